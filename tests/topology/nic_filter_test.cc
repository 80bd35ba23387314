// WEFT_NICS and WEFT_NICS_EXCLUDE.
#include "topology/nic_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<Nic> kNics = {{"rdmap85s0-rdm", PciAddress::parse("55:00.0"), 0},
                                {"rdmap86s0-rdm", PciAddress::parse("56:00.0"), 0},
                                {"rdmap86s0f1-rdm", PciAddress::parse("56:00.1"), 0},
                                {"eth0", {}, 0}};

Result<std::vector<std::size_t>> choose(const char* only, const char* except = "") {
  const auto list = NicList::parse("WEFT_NICS", only), not_these = NicList::parse("WEFT_NICS_EXCLUDE", except);
  if (!list) return std::unexpected(list.error());
  if (!not_these) return std::unexpected(not_these.error());
  return choose_nics(kNics, *list, *not_these);
}

TEST(NicFilterTest, WithoutListsAllAreChosen) { EXPECT_THAT(choose("").value(), ElementsAre(0, 1, 2, 3)); }

TEST(NicFilterTest, NamesAddressesAndCards) {
  EXPECT_THAT(choose("rdmap85s0").value(), ElementsAre(0));
  EXPECT_THAT(choose("rdmap85s0-rdm").value(), ElementsAre(0));
  EXPECT_TRUE(NicList::parse("", "rdmap85s0-rdm")->names({"rdmap85s0", {}, 0})) << "as the log has it";
  EXPECT_THAT(choose("eth0,0000:56:00.1").value(), ElementsAre(2, 3));
  EXPECT_THAT(choose("56:00.0").value(), ElementsAre(1));
  EXPECT_THAT(choose("0000:56:00").value(), ElementsAre(1, 2));
  EXPECT_THAT(choose("", "56:00").value(), ElementsAre(0, 3));
  EXPECT_THAT(choose("56:00", "rdmap86s0").value(), ElementsAre(2));
}

TEST(NicFilterTest, ANameThatIsNowhereIsAnErrorThatNamesWhatIsThere) {
  const auto chosen = choose("rdmap85s0,rdmap99s0");
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().what, HasSubstr("WEFT_NICS names rdmap99s0"));
  EXPECT_THAT(chosen.error().what, HasSubstr("rdmap86s0f1-rdm (0000:56:00.1)"));
}

TEST(NicFilterTest, AnExcludedNicThatIsNowhereIsNoHarm) {
  EXPECT_THAT(choose("", "rdmap99s0").value(), ElementsAre(0, 1, 2, 3));
}

TEST(NicFilterTest, NothingLeftIsAnError) {
  EXPECT_THAT(choose("eth0", "eth0").error().what, HasSubstr("WEFT_NICS_EXCLUDE and WEFT_NICS leave no NIC"));
  EXPECT_THAT(choose("", "eth0,55:00,56:00").error().what, HasSubstr("WEFT_NICS_EXCLUDE leave"));
}

TEST(NicFilterTest, ListsThatCannotBeMeantAreErrors) {
  for (const char* text : {",", "a,", ",a", "a,,b", " ", "a, b"}) {
    const auto list = NicList::parse("WEFT_NICS", text);
    ASSERT_FALSE(list) << text;
    EXPECT_THAT(list.error().what, HasSubstr("WEFT_NICS is")) << text;
  }
}

TEST(PciAddressTest, ReadsWhatTheKernelWrites) {
  EXPECT_EQ(PciAddress::parse("0000:53:00.0"), (PciAddress{0, 0x53, 0, 0}));
  EXPECT_EQ(PciAddress::parse("ff:1f.7"), (PciAddress{0, 0xff, 0x1f, 7}));
  EXPECT_EQ(PciAddress::parse("10000:e1:00.0"), (PciAddress{0x10000, 0xe1, 0, 0}));
  EXPECT_EQ((PciAddress{1, 0x53, 0x1c, 2}).text(), "0001:53:1c.2");
}

TEST(PciAddressTest, RefusesAllElse) {
  for (const char* text : {"", ":", "53:00", "0000:53:00", "0000:53:00.8", "0000:153:00.0", "0000:53:20.0", "g:00.0",
                           "0000:53:00.0 ", " 53:00.0", "0000::00.0", "1:2:3:4.5", "fffffffff:00:00.0", "-1:00.0"}) {
    EXPECT_EQ(PciAddress::parse(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weft::topology
