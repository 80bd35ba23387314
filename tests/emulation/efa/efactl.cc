// weft-efactl: the knobs and counters of a running rig of emulated NICs.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/emulation/efa/rig.h"

using namespace weft::emulation::efa;

namespace {

constexpr int kUsage = 2;

int help() {
  puts(
      "usage: weft-efactl [-d DOMAIN] COMMAND\n"
      "  list                           NICs and the knobs that are not as they were\n"
      "  counters [NODE:NIC]            what they did; * stands for every NODE or NIC, and \"all\" for *:*\n"
      "  set NODE:NIC KNOB=VALUE...     changes knobs while programs run\n"
      "  fail NODE:NIC [STATUS]         the NIC dies (status 13)\n"
      "  restore NODE:NIC               and is back\n"
      "  clean                          removes what killed runs left\n"
      "DOMAIN is that of WEFT_LAB_EFA_DOMAIN unless given.\n\nKnobs, by their initial value:");
  for (const KnobName& knob : kKnobs) printf("  %s=%lu\n      %s\n", knob.name.data(), knob.initial, knob.meaning);
  puts("\nCounters:");
  for (const CounterName& counter : kCounters) printf("  %-12s %s\n", counter.name.data(), counter.meaning);
  return 0;
}

void list(SharedDevice& nic) {
  printf("%u:%u\n", nic.node, nic.nic);
  for (const KnobName& knob : kKnobs) {
    if (const uint64_t value = nic.knobs.*knob.field; value != knob.initial)
      printf("  %s=%lu\n", knob.name.data(), value);
  }
}

void count(SharedDevice& nic) {
  printf("%u:%u", nic.node, nic.nic);
  for (const CounterName& counter : kCounters)
    printf(" %s=%lu", counter.name.data(), (nic.counters.*counter.field).load());
  puts("");
}

int run(const Rig& rig, const std::string& command, const std::vector<std::string>& arguments) {
  if (command == "help" || command == "--help") return help();
  if (command == "clean") {
    rig.clean();
    return 0;
  }
  const bool needs_selector = command == "set" || command == "fail" || command == "restore";
  if ((needs_selector && arguments.empty()) || (!needs_selector && command != "list" && command != "counters")) {
    fprintf(stderr, "weft-efactl: \"%s\": see weft-efactl help\n", command.c_str());
    return kUsage;
  }
  const std::string selector = arguments.empty() ? "all" : arguments[0];
  const auto nics = rig.select(selector);
  if (nics.empty()) {
    fprintf(stderr, "weft-efactl: no NIC %s in the domain %s\n", selector.c_str(), domain().c_str());
    return 1;
  }
  for (SharedDevice* nic : nics) {
    if (command == "list") list(*nic);
    if (command == "counters") count(*nic);
    if (command == "fail") fail(*nic, arguments.size() > 1 ? strtoull(arguments[1].c_str(), nullptr, 0) : 13);
    if (command == "restore") restore(*nic);
    if (command != "set") continue;
    for (size_t i = 1; i < arguments.size(); ++i) {
      if (!set_knobs(*nic, arguments[i])) return kUsage;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string domain;
  if (arguments.size() >= 2 && arguments[0] == "-d") {
    domain = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.empty()) {
    help();
    return kUsage;
  }
  const std::string command = arguments[0];
  arguments.erase(arguments.begin());
  return run(Rig(domain), command, arguments);
}
