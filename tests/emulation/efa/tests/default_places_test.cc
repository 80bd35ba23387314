#include "tests/emulation/default_places.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace weft::emulation {
namespace {

struct Address {
  unsigned domain = 0, bus = 0, device = 0;
};

std::vector<std::string> parts_of(const std::string& place) {
  std::vector<std::string> parts;
  std::stringstream stream(place);
  for (std::string part; std::getline(stream, part, '/');) parts.push_back(part);
  return parts;
}
Address parse(const std::string& text) {
  Address address;
  EXPECT_EQ(text.size(), 12u) << text;
  EXPECT_EQ(sscanf(text.c_str(), "%x:%x:%x.0", &address.domain, &address.bus, &address.device), 3) << text;
  EXPECT_LT(address.device, 32u) << text;
  return address;
}

std::vector<std::string> all_places(const DefaultPlaces& host) {
  std::vector<std::string> all;
  for (unsigned i = 0; i < host.nics; ++i) all.push_back(host.nic(i));
  for (unsigned i = 0; i < host.gpus; ++i) all.push_back(host.gpu(i));
  return all;
}

// The switch of a place: its port towards the processors.
std::string switch_of(const std::string& place) { return parts_of(place).at(1); }

TEST(DefaultPlacesTest, EveryHostIsOneThatAKernelCouldShow) {
  for (unsigned nics = 0; nics <= 33; ++nics) {
    for (unsigned gpus = 0; gpus <= 17; ++gpus) {
      std::set<std::string> devices;
      // The bridge above a bus is one and the same for all below it.
      std::map<std::string, std::string> above;
      for (const std::string& place : all_places({nics, gpus})) {
        const std::vector<std::string> parts = parts_of(place);
        EXPECT_TRUE(devices.insert(parts.back()).second) << place;
        for (size_t i = 1; i < parts.size(); ++i) {
          const Address bridge = parse(parts[i - 1]), below = parse(parts[i]);
          EXPECT_EQ(bridge.domain, below.domain) << place;
          EXPECT_LT(bridge.bus, below.bus) << place;
          EXPECT_EQ(above.emplace(parts[i].substr(0, 7), parts[i - 1]).first->second, parts[i - 1]) << place;
        }
      }
      // Buses below a switch follow one another: none is between two of another switch.
      std::map<std::string, std::string> switches;
      for (const std::string& place : all_places({nics, gpus})) switches[parts_of(place).back()] = switch_of(place);
      std::set<std::string> seen;
      std::string last;
      for (const auto& [device, home] : switches) {
        if (home != last) {
          EXPECT_TRUE(seen.insert(home).second) << nics << " NICs, " << gpus << " GPUs: " << device;
        }
        last = home;
      }
    }
  }
}

TEST(DefaultPlacesTest, NicsAreSharedOutEvenly) {
  // As many of both, more NICs, fewer NICs.
  EXPECT_EQ(switch_of(DefaultPlaces{2, 2}.nic(1)), switch_of(DefaultPlaces{2, 2}.gpu(1)));
  const DefaultPlaces many{32, 8};
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(switch_of(many.nic(i)), switch_of(many.gpu(i / 4)));
  const DefaultPlaces few{4, 8};
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(switch_of(few.gpu(i)), switch_of(few.nic(i / 2)));
}

TEST(DefaultPlacesTest, GpusStandWhereTheEmulatedCudaSaysThatTheyDo) {
  for (unsigned nics : {0u, 1u, 4u, 40u}) {
    const DefaultPlaces host{nics, 20};
    for (unsigned i = 0; i < host.gpus; ++i) {
      const Address address = parse(parts_of(host.gpu(i)).back());
      EXPECT_EQ(address.domain, DefaultPlaces::gpu_domain(i));
      EXPECT_EQ(address.bus, DefaultPlaces::gpu_bus(i));
    }
  }
}

}  // namespace
}  // namespace weft::emulation
