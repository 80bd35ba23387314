#include "tests/efa/run.h"

#include <chrono>
#include <memory>
#include <vector>

#include "tests/emulation/efa/rig.h"

namespace weft::soak {
namespace {

namespace lab = emulation::efa;

/// A run that makes no headway ends at some time; nothing else depends on the clock.
constexpr std::chrono::seconds kPatience{60};
constexpr std::size_t kStepsPerLook = 4096;

class Run {
 public:
  Run(const SoakPlan& plan, bench::NetPlugin& plugin) : plan_(plan), plugin_(plugin), random_(plan.seed) {}

  Result<std::string> go();

 private:
  Status connect();
  Status drive();
  void trouble(std::size_t step);
  bool is_over() const noexcept { return open_ == 0; }

  const SoakPlan& plan_;
  bench::NetPlugin& plugin_;
  Random random_;
  lab::Rig rig_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::size_t open_ = 0;
  std::uint64_t messages_ = 0;
  std::size_t receives_ = 0;
};

Status Run::connect() {
  for (const SoakPlan::Direction& each : plan_.streams) {
    const int from = each.is_back ? 1 : 0;
    TRY(auto stream, Stream::make(plugin_, from, 1 - from, each.stream, random_.next()));
    streams_.push_back(std::move(stream));
  }
  return {};
}

/// What the plan has in store for the NICs at this step.
void Run::trouble(std::size_t step) {
  if (plan_.nic_fails == 0) return;
  const auto nic = static_cast<std::uint32_t>(plan_.seed % (2 * plan_.rails));
  if (step == plan_.nic_fails) lab::fail(*rig_.nic(0, nic));
  if (step == plan_.nic_fails + plan_.nic_returns) lab::restore(*rig_.nic(0, nic));
}

Status Run::drive() {
  for (lab::SharedDevice* nic : rig_.nics()) lab::set_knobs(*nic, plan_.errors);
  auto looked = std::chrono::steady_clock::now();
  std::uint64_t seen = 0;
  std::vector<Stream*> going;
  for (const auto& each : streams_) going.push_back(each.get());
  for (std::size_t step = 1; !going.empty(); ++step) {
    trouble(step);
    const std::size_t which = random_.below(going.size());
    Stream& stream = *going[which];
    if (!stream.step()) {
      if (!stream.error().empty()) return fail(Code::kInternal, stream.error() + "; " + stream.text());
      going.erase(going.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (step % kStepsPerLook != 0) continue;
    std::uint64_t now_seen = 0;
    for (const auto& each : streams_) now_seen += each->messages();
    const auto now = std::chrono::steady_clock::now();
    if (now_seen != seen) looked = now;
    seen = now_seen;
    if (now - looked < kPatience) continue;
    std::string what = "the traffic has come to a stop";
    for (const auto& each : streams_) what += "; " + each->text();
    return fail(Code::kTimeout, what);
  }
  for (const auto& each : streams_) {
    messages_ += each->messages();
    receives_ = std::max(receives_, each->receives());
  }
  return {};
}

Result<std::string> Run::go() {
  for (std::size_t life = 0; life < plan_.lives; ++life) {
    TRY_VOID(connect());
    TRY_VOID(drive());
    // What is closed last has sent last, or the other way round.
    while (!streams_.empty())
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(random_.below(streams_.size())));
  }
  const auto nics = rig_.nics();
  return std::to_string(messages_) + " messages, up to " + std::to_string(receives_) + " receives of a connection, " +
         std::to_string(lab::sum(nics, &lab::Counters::reordered)) + " reordered, " +
         std::to_string(lab::sum(nics, &lab::Counters::errors)) + " errors, " +
         std::to_string(lab::sum(nics, &lab::Counters::overruns)) + " overruns";
}

}  // namespace

Result<std::string> run(const SoakPlan& plan, const std::string& plugin_path) {
  TRY(const auto plugin, bench::NetPlugin::load(plugin_path, 0));
  TRY_VOID(plugin->init(plan.seed));
  TRY(const int devices, plugin->devices());
  if (devices != 2) {
    return fail(Code::kUsage, "the plugin offers " + std::to_string(devices) + " devices, not 2 of " +
                                  std::to_string(plan.rails) + " rails: run it by weft-lab");
  }
  return Run(plan, *plugin).go();
}

}  // namespace weft::soak
