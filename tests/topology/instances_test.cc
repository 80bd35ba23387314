// What the table says of the instance types, against figures that are known from elsewhere.
#include "topology/instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::topology {
namespace {

/// The value that `type` gives to `variable`, "" if none.
std::string_view default_of(std::string_view type, std::string_view variable) {
  const Instance* instance = find_instance(type);
  if (instance == nullptr) return {};
  const auto found = std::ranges::find(instance->defaults, variable, &NcclDefault::variable);
  return found != instance->defaults.end() ? found->value : std::string_view{};
}

TEST(InstancesTest, KnowsP5) {
  const Instance* p5 = find_instance("p5.48xlarge");
  ASSERT_NE(p5, nullptr);
  EXPECT_EQ(p5->type, "p5.48xlarge");
  EXPECT_EQ(p5->nics, 32);
  EXPECT_EQ(p5->nic_mbps, 100'000);
  EXPECT_EQ(p5->gpus, 8);
  EXPECT_EQ(p5->rails, 4);
  EXPECT_EQ(p5->protocol, "rdma");
  EXPECT_FLOAT_EQ(p5->latency_us, 75);
}

TEST(InstancesTest, TellsSizesOfOneFamilyApart) {
  const Instance* small = find_instance("p5.4xlarge");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->nics, 1);
  EXPECT_EQ(small->rails, 1);
  EXPECT_EQ(small->protocol, "sendrecv");
}

TEST(InstancesTest, DoesNotGuessAtUnknownTypes) {
  for (const char* type : {"", "p5", "p5.48xlarge ", "P5.48XLARGE", "p5.48xlarg", "p5.48xlarge.metal", "m5.large"}) {
    EXPECT_EQ(find_instance(type), nullptr) << '"' << type << '"';
  }
}

TEST(InstancesTest, FindsEveryRowByItsType) {
  for (const Instance& row : instances()) EXPECT_EQ(find_instance(row.type), &row) << row.type;
}

TEST(InstancesTest, HoldsEveryTypeWithEfaAndAccelerators) {
  for (const char* type :
       {"p3dn.24xlarge",       "p4d.24xlarge",  "p4de.24xlarge",    "p5.4xlarge",       "p5.48xlarge",
        "p5e.48xlarge",        "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge", "p6e-gb200.36xlarge",
        "p6e-gb300r.36xlarge", "g5.48xlarge",   "g6.12xlarge",      "g6.24xlarge",      "g6.48xlarge",
        "g6e.12xlarge",        "g6e.24xlarge",  "g6e.48xlarge",     "g7e.8xlarge",      "g7e.12xlarge",
        "g7e.24xlarge",        "g7e.48xlarge",  "trn1.32xlarge",    "trn1n.32xlarge",   "trn2.48xlarge"}) {
    EXPECT_NE(find_instance(type), nullptr) << type;
  }
  EXPECT_EQ(instances().size(), 25U) << "a new row needs a line here and a fixture";
}

TEST(InstancesTest, TotalsMatchThePublishedBandwidth) {
  const auto total_gbps = [](std::string_view type) {
    const Instance* instance = find_instance(type);
    return instance == nullptr ? -1 : instance->nics * (instance->nic_mbps / 1000);
  };
  EXPECT_EQ(total_gbps("p4d.24xlarge"), 400);
  EXPECT_EQ(total_gbps("p5e.48xlarge"), 3200);
  EXPECT_EQ(total_gbps("p5en.48xlarge"), 3200);
  EXPECT_EQ(total_gbps("p6-b200.48xlarge"), 3200);
  EXPECT_EQ(total_gbps("p6-b300.48xlarge"), 6400);
  EXPECT_EQ(total_gbps("g6e.48xlarge"), 400);
  EXPECT_EQ(total_gbps("g7e.48xlarge"), 1600);
  EXPECT_EQ(total_gbps("trn1.32xlarge"), 800);
  EXPECT_EQ(total_gbps("trn1n.32xlarge"), 1600);
  EXPECT_EQ(total_gbps("trn2.48xlarge"), 3200);
}

TEST(InstancesTest, SaysZeroWhereAFigureIsNotKnown) {
  const Instance* gb300 = find_instance("p6e-gb300r.36xlarge");
  ASSERT_NE(gb300, nullptr);
  EXPECT_EQ(gb300->nics, 2);
  EXPECT_EQ(gb300->nic_mbps, 0);
  EXPECT_TRUE(gb300->efa.empty());
}

TEST(InstancesTest, RaisesChunksOnAmpereAndLeavesNvlsAlone) {
  EXPECT_EQ(default_of("p4d.24xlarge", "NCCL_BUFFSIZE"), "8388608");
  EXPECT_EQ(default_of("p4de.24xlarge", "NCCL_P2P_NET_CHUNKSIZE"), "524288");
  EXPECT_EQ(default_of("p4d.24xlarge", "NCCL_NVLS_CHUNKSIZE"), "");
  EXPECT_EQ(default_of("p4d.24xlarge", "NCCL_NET_FORCE_FLUSH"), "") << "Ampere needs the flush";
}

TEST(InstancesTest, SparesHopperAndBlackwellTheFlush) {
  for (const char* type : {"p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge",
                           "p6e-gb200.36xlarge", "p6e-gb300r.36xlarge"}) {
    EXPECT_EQ(default_of(type, "NCCL_NET_FORCE_FLUSH"), "0") << type;
    EXPECT_EQ(default_of(type, "NCCL_NVLSTREE_MAX_CHUNKSIZE"), default_of(type, "NCCL_NVLS_CHUNKSIZE")) << type;
    EXPECT_EQ(default_of(type, "NCCL_NVLS_CHUNKSIZE"), "524288") << type;
  }
}

TEST(InstancesTest, SharesDevicesOnlyWhereTwoGpusShareASwitch) {
  for (const Instance& row : instances()) {
    const bool shared = row.type == "p5en.48xlarge" || row.type == "p6-b200.48xlarge";
    EXPECT_EQ(default_of(row.type, "NCCL_NETDEVS_POLICY"), shared ? "max:1" : "") << row.type;
  }
}

TEST(InstancesTest, LeavesTypesWithoutEvidenceToNccl) {
  for (const char* type : {"p3dn.24xlarge", "p5.4xlarge", "g5.48xlarge", "g6.48xlarge", "trn1.32xlarge"}) {
    ASSERT_NE(find_instance(type), nullptr) << type;
    EXPECT_TRUE(find_instance(type)->defaults.empty()) << type;
  }
}

TEST(InstancesTest, GivesEveryDefaultAReasonInOneSentence) {
  for (const Instance& row : instances()) {
    for (const NcclDefault& value : row.defaults) {
      EXPECT_TRUE(value.reason.ends_with('.')) << row.type << ' ' << value.variable;
      EXPECT_EQ(value.reason.find(". "), std::string_view::npos) << row.type << ' ' << value.variable;
      EXPECT_FALSE(value.source.empty()) << row.type << ' ' << value.variable;
    }
  }
}

}  // namespace
}  // namespace weft::topology
