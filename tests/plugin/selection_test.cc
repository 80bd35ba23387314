#include "plugin/selection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

namespace weft::plugin {
namespace {

Offer offer(std::string provider, std::string domain, int family = 0) {
  return {.provider = std::move(provider), .domain = std::move(domain), .address_family = family};
}
Offer tcp(std::string domain, int family = AF_INET) { return offer("tcp;ofi_rxm", std::move(domain), family); }
Offer loopback() {
  auto lo = tcp("lo");
  lo.is_loopback = true;
  return lo;
}
Offer link_local(Offer offer) {
  offer.is_link_local = true;
  return offer;
}
Offer unplugged(Offer offer) {
  offer.has_carrier = false;
  return offer;
}

struct Chosen {
  std::string provider;
  std::vector<std::string> domains;
  bool operator==(const Chosen&) const = default;
};
void PrintTo(const Chosen& chosen, std::ostream* out) {
  *out << chosen.provider << ":";
  for (const auto& domain : chosen.domains) *out << " " << domain;
}

Result<Chosen> choose(const std::vector<Offer>& offers, const std::string& provider = "", const char* interfaces = "") {
  TRY(const auto filter, InterfaceFilter::parse(interfaces));
  TRY(const auto selection, select_offers(offers, provider, filter));
  Chosen chosen{selection.provider, {}};
  for (const auto index : selection.offers) chosen.domains.push_back(offers[index].domain);
  return chosen;
}

Chosen expect_choice(const Result<Chosen>& chosen) {
  EXPECT_TRUE(chosen.has_value()) << chosen.error().what;
  return chosen.value_or(Chosen{});
}

TEST(SelectionTest, ProvidersAreRanked) {
  // From worst to best: each beats all before it, wherever it stands in the list.
  const std::vector<std::string> ranking = {"tcp", "tcp;ofi_rxm", "verbs;ofi_rxm", "psm2", "psm3", "opx", "cxi", "efa"};
  std::vector<Offer> offers;
  for (const auto& provider : ranking) {
    offers.push_back(offer(provider, "nic0"));
    EXPECT_EQ(expect_choice(choose(offers)).provider, provider);
    auto reversed = offers;
    std::ranges::reverse(reversed);
    EXPECT_EQ(expect_choice(choose(reversed)).provider, provider);
  }
}

TEST(SelectionTest, SomeProvidersMustBeNamed) {
  for (const char* provider : {"shm", "udp;ofi_rxd", "sockets", "net", "verbs;ofi_rxd", "ofi_mrail", "something-new"}) {
    SCOPED_TRACE(provider);
    const auto chosen = choose({offer(provider, "x")});
    ASSERT_FALSE(chosen.has_value());
    EXPECT_EQ(chosen.error().code, Code::kMissing);
    EXPECT_NE(chosen.error().what.find(provider), std::string::npos) << "the error says what there is";
    EXPECT_EQ(expect_choice(choose({tcp("eth0"), offer(provider, "x")})).provider, "tcp;ofi_rxm");
    EXPECT_EQ(expect_choice(choose({tcp("eth0"), offer(provider, "x")}, provider)).provider, provider);
  }
}

TEST(SelectionTest, NothingOfferedIsAnErrorThatSaysWhatToDo) {
  const auto chosen = choose({});
  ASSERT_FALSE(chosen.has_value());
  EXPECT_NE(chosen.error().what.find("it offers: nothing"), std::string::npos);
  EXPECT_NE(chosen.error().what.find("WEFT_PROVIDER"), std::string::npos);
}

TEST(SelectionTest, NamedProviderMayLeaveOutRxm) {
  EXPECT_EQ(expect_choice(choose({offer("efa", "r0"), tcp("eth0")}, "tcp")).provider, "tcp;ofi_rxm");
  EXPECT_EQ(expect_choice(choose({tcp("eth0"), offer("tcp", "eth0", AF_INET)}, "tcp")).provider, "tcp;ofi_rxm")
      << "the safe one of the two";
  EXPECT_EQ(expect_choice(choose({offer("efa", "r0"), offer("tcp", "eth0", AF_INET)}, "tcp")).provider, "tcp");
  EXPECT_EQ(expect_choice(choose({offer("net;ofi_rxm", "eth0"), offer("net", "eth0")}, "net")).provider, "net");
  EXPECT_EQ(expect_choice(choose({offer("net;ofi_rxm", "eth0")}, "net")).provider, "net;ofi_rxm");
  EXPECT_EQ(expect_choice(choose({tcp("eth0"), offer("tcp", "eth0", AF_INET)}, "tcp;ofi_rxm")).provider, "tcp;ofi_rxm");
}

TEST(SelectionTest, NamedProviderDoesNotMeanAnother) {
  for (const char* name : {"udp", "verbs", "tc", "tcp;", "efa2"}) {
    const auto chosen = choose({tcp("eth0"), offer("udp;ofi_rxd", "eth0"), offer("efa", "r0")}, name);
    ASSERT_FALSE(chosen.has_value()) << name;
    EXPECT_NE(chosen.error().what.find("tcp;ofi_rxm, udp;ofi_rxd, efa"), std::string::npos) << chosen.error().what;
  }
}

TEST(SelectionTest, OneDevicePerInterface) {
  const auto chosen = choose({tcp("eth0"), tcp("eth0"), tcp("eth1"), tcp("eth0", AF_INET6), tcp("eth1")});
  EXPECT_EQ(expect_choice(chosen), (Chosen{"tcp;ofi_rxm", {"eth0", "eth1"}}));
}

TEST(SelectionTest, EveryNicOfTheProviderIsTaken) {
  const auto chosen = choose({offer("efa", "rdmap1"), tcp("eth0"), offer("efa", "rdmap0")});
  EXPECT_EQ(expect_choice(chosen), (Chosen{"efa", {"rdmap1", "rdmap0"}}));
}

TEST(SelectionTest, AddressesOfAnInterfaceAreRanked) {
  const std::vector<Offer> worst_to_best = {link_local(tcp("eth0", AF_INET6)), link_local(tcp("eth0", AF_INET)),
                                            tcp("eth0", AF_INET6), tcp("eth0", AF_INET)};
  const auto filter = InterfaceFilter::parse("");
  std::vector<Offer> offers;
  for (const auto& each : worst_to_best) {
    offers.push_back(each);
    auto selection = select_offers(offers, "", *filter);
    ASSERT_TRUE(selection.has_value());
    EXPECT_EQ(selection->offers, std::vector<std::size_t>{offers.size() - 1});
    auto reversed = offers;
    std::ranges::reverse(reversed);
    EXPECT_EQ(select_offers(reversed, "", *filter)->offers, std::vector<std::size_t>{0});
  }
}

TEST(SelectionTest, FirstOfEqualOffersIsKept) {
  const auto filter = InterfaceFilter::parse("");
  EXPECT_EQ(select_offers(std::vector{tcp("eth0"), tcp("eth0")}, "", *filter)->offers, std::vector<std::size_t>{0});
}

TEST(SelectionTest, LoopbackOnlyWhenAloneOrNamed) {
  EXPECT_EQ(expect_choice(choose({loopback(), tcp("eth0")})).domains, std::vector<std::string>{"eth0"});
  EXPECT_EQ(expect_choice(choose({loopback()})).domains, std::vector<std::string>{"lo"});
  EXPECT_EQ(expect_choice(choose({loopback(), tcp("eth0")}, "", "lo")).domains, std::vector<std::string>{"lo"});
  EXPECT_EQ(expect_choice(choose({loopback(), tcp("eth0")}, "", "^eth0")).domains, std::vector<std::string>{"lo"});
  EXPECT_EQ(expect_choice(choose({loopback(), tcp("eth0")}, "", "lo,eth")).domains,
            (std::vector<std::string>{"lo", "eth0"}));
}

TEST(SelectionTest, ContainerBridgesDoNotCarryTraffic) {
  for (const char* name : {"docker0", "br-0123456789ab", "virbr0", "veth1a2b", "ifb0", "cni0", "flannel.1", "cali12",
                           "pod-id-link0", "dummy0"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(expect_choice(choose({tcp(name), tcp("eth0"), loopback()})).domains, std::vector<std::string>{"eth0"});
    EXPECT_EQ(expect_choice(choose({tcp(name), loopback()})).domains, std::vector<std::string>{name})
        << "better than loopback";
    EXPECT_EQ(expect_choice(choose({tcp(name), tcp("eth0")}, "", name)).domains, std::vector<std::string>{name});
  }
  // A machine's own bridge is no container's.
  EXPECT_EQ(expect_choice(choose({tcp("br0"), tcp("eth0")})).domains, (std::vector<std::string>{"br0", "eth0"}));
}

TEST(SelectionTest, LinkLocalInterfacesDoNotWin) {
  EXPECT_EQ(expect_choice(choose({link_local(tcp("ens5")), tcp("eth0")})).domains, std::vector<std::string>{"eth0"});
  EXPECT_EQ(expect_choice(choose({link_local(tcp("ens5"))})).domains, std::vector<std::string>{"ens5"});
}

TEST(SelectionTest, InterfacesWithoutCarrierComeLast) {
  EXPECT_EQ(expect_choice(choose({unplugged(tcp("eth1")), tcp("eth0")})).domains, std::vector<std::string>{"eth0"});
  EXPECT_EQ(expect_choice(choose({unplugged(tcp("eth1")), loopback()})).domains, std::vector<std::string>{"lo"});
  EXPECT_EQ(expect_choice(choose({unplugged(tcp("eth1"))})).domains, std::vector<std::string>{"eth1"});
  EXPECT_EQ(expect_choice(choose({unplugged(tcp("eth1")), tcp("eth0")}, "", "eth1")).domains,
            std::vector<std::string>{"eth1"});
}

TEST(SelectionTest, NamesComeBeforeProviders) {
  // Who names eth0 on a machine with EFA wants tcp.
  EXPECT_EQ(expect_choice(choose({offer("efa", "rdmap0"), tcp("eth0")}, "", "eth0")),
            (Chosen{"tcp;ofi_rxm", {"eth0"}}));
  EXPECT_EQ(expect_choice(choose({offer("efa", "rdmap0"), tcp("eth0")}, "", "^eth")), (Chosen{"efa", {"rdmap0"}}));
}

TEST(SelectionTest, FilterThatLeavesNothingIsAnErrorWithTheNames) {
  const auto chosen = choose({tcp("eth0"), loopback()}, "", "ib");
  ASSERT_FALSE(chosen.has_value());
  EXPECT_EQ(
      chosen.error().what,
      "WEFT_INTERFACES is \"ib\", which leaves no interface (there are: eth0, lo); correct or unset WEFT_INTERFACES");
}

TEST(InterfaceFilterTest, MatchesPrefixesAndExactNames) {
  const auto filter = InterfaceFilter::parse("eth,=ens5");
  ASSERT_TRUE(filter.has_value());
  EXPECT_TRUE(filter->admits("eth0"));
  EXPECT_TRUE(filter->admits("eth12"));
  EXPECT_TRUE(filter->admits("ens5"));
  EXPECT_FALSE(filter->admits("ens50"));
  EXPECT_FALSE(filter->admits("lo"));
  EXPECT_TRUE(filter->names("eth0"));
  EXPECT_FALSE(filter->names("lo"));
}

TEST(InterfaceFilterTest, ExcludesWithACaret) {
  const auto filter = InterfaceFilter::parse("^docker,=lo");
  ASSERT_TRUE(filter.has_value());
  EXPECT_FALSE(filter->admits("docker0"));
  EXPECT_FALSE(filter->admits("lo"));
  EXPECT_TRUE(filter->admits("lowpan0"));
  EXPECT_FALSE(filter->names("lowpan0")) << "not excluded is not named";
  EXPECT_FALSE(filter->names("docker0"));
}

TEST(InterfaceFilterTest, EmptyAdmitsAllAndNamesNone) {
  const auto filter = InterfaceFilter::parse("");
  ASSERT_TRUE(filter.has_value());
  EXPECT_TRUE(filter->admits("anything"));
  EXPECT_FALSE(filter->names("anything"));
}

TEST(InterfaceFilterTest, MalformedListsAreErrors) {
  for (const char* bad :
       {"^", ",", "eth0,", ",eth0", "eth0,,eth1", "eth0,^lo", "=", "^=", "eth0 ,eth1", " eth0", "==lo"}) {
    const auto filter = InterfaceFilter::parse(bad);
    ASSERT_FALSE(filter.has_value()) << bad;
    EXPECT_EQ(filter.error().code, Code::kArgument);
    EXPECT_TRUE(filter.error().what.starts_with(std::string("WEFT_INTERFACES is \"") + bad + "\""))
        << filter.error().what;
  }
}

}  // namespace
}  // namespace weft::plugin
