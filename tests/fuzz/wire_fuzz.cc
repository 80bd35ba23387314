// libFuzzer's entry: wire_fuzz -max_total_time=60 [FOLDER]. With --write-seeds=FOLDER it fills the folder and ends.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/fuzz/wire_target.h"

namespace {

bool write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::size_t number = 0;
  for (const auto& seed : weft::test::wire_seeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    if (!file) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  // The fake fabric complains through GoogleTest; here that must end the run.
  GTEST_FLAG_SET(break_on_failure, true);
  constexpr std::string_view kWrite = "--write-seeds=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.starts_with(kWrite)) std::exit(write_seeds(argument.substr(kWrite.size())) ? 0 : 1);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = weft::test::run_wire_input({data, size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "wire_fuzz: %s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
