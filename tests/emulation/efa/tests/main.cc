#include <gtest/gtest.h>

#include <cstring>

namespace weft::emulation::efa {
int run_peer(const char* fabric);
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--peer") == 0) return weft::emulation::efa::run_peer(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
