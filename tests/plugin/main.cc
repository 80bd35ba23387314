// The tests of the built plugin run over libfabric's tcp on the loopback interface, whatever else the machine has.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/plugin/second_process.h"

int main(int argc, char** argv) {
  for (const char* variable : {"WEFT_LIBFABRIC", "WEFT_REQUIRE"}) unsetenv(variable);
  setenv("WEFT_PROVIDER", "tcp", 1);
  setenv("WEFT_INTERFACES", "=lo", 1);
  if (argc == 2 && std::string_view(argv[1]) == weft::test::kSecondProcessArgument) return weft::test::second_process();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
