// What Weft makes of every machine in fixtures/: the file beside each says it. After a change that is meant, write them
// anew with WEFT_TEST_WRITE_GOLDEN=1 and read the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "topology/hwloc_tree.h"
#include "topology/instances.h"
#include "topology/rail_groups.h"

namespace weft::topology {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fixtures() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(WEFT_TEST_FIXTURES)) {
    if (entry.path().extension() == ".xml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path fixture(const std::string& name, const char* suffix) { return fs::path(WEFT_TEST_FIXTURES) / (name + suffix); }

Result<Tree> load(const std::string& name) {
  TRY(const Hwloc hwloc, Hwloc::open());
  return hwloc.read_xml(fixture(name, ".xml"));
}

/// Devices, their rails in order, speeds, GPUs, remarks.
std::string describe(const Tree& tree) {
  const auto nics = efa_nics(tree);
  GroupOptions options;
  if (const Instance* instance = find_instance(tree.instance_type)) options.rails_without_gpus = instance->rails;
  const RailGroups groups = group_rails(tree, nics, options);
  std::string text = tree.instance_type + ": " + std::to_string(tree.all(Kind::kGpu).size()) + " GPUs, " +
                     std::to_string(nics.size()) + " EFA NICs\n";
  for (std::size_t i = 0; i < groups.groups.size(); ++i) {
    int mbps = 0;
    text += "device " + std::to_string(i) + ":";
    for (const std::size_t rail : groups.groups[i].rails) {
      text += " " + nics[rail].name + "@" + nics[rail].address->text();
      mbps += nics[rail].speed_mbps;
    }
    text += ", " + std::to_string(mbps / 1000) + " Gb/s, for";
    if (groups.groups[i].gpus.empty()) text += " no GPU";
    for (const int gpu : groups.groups[i].gpus) {
      const Node& node = tree.nodes[static_cast<std::size_t>(gpu)];
      text += " " + node.name + "@" + node.address.text();
    }
    text += "\n";
  }
  for (const auto& remark : groups.remarks) text += "remark: " + remark + "\n";
  for (const auto& oddity : tree.oddities) text += "odd: " + oddity + "\n";
  return text;
}

class FixturesTest : public testing::TestWithParam<std::string> {};

TEST_P(FixturesTest, MakesTheDevicesThatTheGoldenFileSays) {
  const auto tree = load(GetParam());
  ASSERT_TRUE(tree) << tree.error().what;
  const std::string made = describe(*tree);
  const fs::path golden = fixture(GetParam(), ".golden");
  if (std::getenv("WEFT_TEST_WRITE_GOLDEN") != nullptr) {
    std::ofstream(golden) << made;
    GTEST_SKIP() << "wrote " << golden;
  }
  std::ifstream file(golden);
  EXPECT_EQ(made, std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_P(FixturesTest, AgreesWithTheInstanceTable) {
  const auto tree = load(GetParam());
  ASSERT_TRUE(tree) << tree.error().what;
  const Instance* instance = find_instance(tree->instance_type);
  ASSERT_NE(instance, nullptr) << tree->instance_type;
  if (GetParam() != tree->instance_type) return;  // a part of a machine
  const auto nics = efa_nics(*tree);
  EXPECT_EQ(static_cast<int>(nics.size()), instance->nics);
  EXPECT_EQ(static_cast<int>(tree->all(Kind::kGpu).size()), instance->gpus);
  const RailGroups groups = group_rails(*tree, nics, {});
  for (const int gpu : tree->all(Kind::kGpu)) {
    const auto& group = groups.groups.at(static_cast<std::size_t>(group_of_gpu(*tree, nics, groups, gpu)));
    EXPECT_EQ(static_cast<int>(group.rails.size()), instance->rails) << "of GPU " << gpu;
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& machine) {
  std::string name = machine.param;
  std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Machines, FixturesTest, testing::ValuesIn(fixtures()), test_name);

TEST(FixturesTest, EveryInstanceOfTheTableIsThere) {
  const auto names = fixtures();
  for (const Instance& instance : instances()) EXPECT_THAT(names, testing::Contains(std::string(instance.type)));
}

}  // namespace
}  // namespace weft::topology
