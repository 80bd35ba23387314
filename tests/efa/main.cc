// The built plugin over emulated EFA NICs: run it by tests/emulation/weft-lab.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/efa/listening_process.h"
#include "tests/plugin/second_process.h"

int main(int argc, char** argv) {
  unsetenv("WEFT_INTERFACES");
  setenv("WEFT_PROVIDER", "efa", 1);
  setenv("WEFT_PROTOCOL", "rdma", 1);
  const std::string_view role = argc == 2 ? argv[1] : "";
  if (role == weft::test::kSecondProcessArgument) return weft::test::second_process();
  if (role == weft::test::kListeningArgument) return weft::test::listening_process();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
