#include "bench/point_to_point.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "bench/contender.h"
#include "bench/p2p_report.h"
#include "bench/plugin_wire.h"
#include "bench/progress.h"
#include "bench/raw_wire.h"
#include "bench/report.h"
#include "bench/sizes.h"
#include "bench/text.h"
#include "bench/wire_pattern.h"

namespace weft::bench {
namespace {

constexpr std::size_t kRateBytes = 8;
// What a round of ping-pong may take: far more than a timer tick, and short enough for many sizes and rounds.
constexpr double kRoundSeconds = 0.05;

/// A wire of either kind, with its type forgotten. The calls are made outside the timed loops.
struct Subject {
  std::function<Result<double>(std::size_t bytes, int iterations)> latency;
  std::function<Result<double>(std::size_t bytes, int count)> stream;
  std::function<Status(std::size_t bytes)> swap;
  std::size_t parts = 1;  ///< messages that count as one
};

template <Wire W>
Subject subject_of(W& wire, const Session& session, int parts) {
  const auto pattern = std::make_shared<WirePattern<W>>(wire, session);
  return {.latency = [=](std::size_t bytes, int iterations) { return pattern->latency(bytes, iterations); },
          .stream = [=](std::size_t bytes, int count) { return pattern->stream(bytes, count); },
          .swap = [=](std::size_t bytes) { return pattern->swap(bytes); },
          .parts = static_cast<std::size_t>(parts)};
}

/// The measuring of one session.
class PointToPoint {
 public:
  explicit PointToPoint(const Session& session) : session_(session), progress_(session.is_first()) {}

  Result<std::size_t> run();

 private:
  MeshPlan plan() const;
  Status open();
  Status open_plugin(Contender& contender, std::size_t bytes);
  Status open_raw(int rails);
  Status close();
  Result<P2pRow> measure(std::size_t bytes);
  Status measure_rates();
  Status measure_connects();
  Result<std::size_t> check(const Subject& subject, std::size_t bytes);
  /// Warms up, and says how many round trips make a round that is long enough to measure and not longer.
  Result<int> iterations_for(std::size_t bytes);
  void print_header() const;
  void print_footer() const;
  Status write_files() const;

  /// Calls visit(index of the subject) for all subjects in each round, in an order that turns around every time.
  template <class Visit>
  Status in_rounds(const std::string& what, Visit visit);

  Session session_;
  Progress progress_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  WireBuffers buffers_;  ///< the same for all subjects: which pages it is in makes a difference of several percent
  std::vector<std::unique_ptr<PluginWire>> wires_;
  std::vector<std::unique_ptr<RawWire>> raw_;
  std::vector<Subject> subjects_;
  P2pResults results_;
  std::size_t wrong_ = 0;
};

MeshPlan PointToPoint::plan() const {
  // A message of several sub-receives is as many sends.
  const int depth = kStreamDepth * session_.options.sub_receives;
  const int peer = 1 - session_.rank();
  return {.device = session_.options.device, .channels = 1, .depth = depth, .send_to = {peer}, .receive_from = {peer}};
}

Status PointToPoint::open_plugin(Contender& contender, std::size_t bytes) {
  const Options& options = session_.options;
  const NetDevice& device = contender.device;
  if (options.sub_receives > device.max_receives) {
    return fail(Code::kUsage, text("--sub-receives %d: plugin %s groups at most %d", options.sub_receives,
                                   contender.plugin->name(), device.max_receives));
  }
  if (device.max_bytes != 0 && bytes > device.max_bytes) {
    return fail(Code::kUsage, text("-e %s: plugin %s sends at most %s in one message", size_text(bytes).c_str(),
                                   contender.plugin->name(), size_text(device.max_bytes).c_str()));
  }
  TRY(contender.mesh, connect_mesh(*contender.plugin, plan(), session_.rendezvous, session_.idle));
  TRY(auto wire, PluginWire::create(contender, 1 - session_.rank(), buffers_, options.sub_receives));
  subjects_.push_back(subject_of(*wire, session_, options.sub_receives));
  wires_.push_back(std::move(wire));
  return {};
}

Status PointToPoint::open_raw(int rails) {
  const Options& options = session_.options;
  const RawChoice choice{.domain = contenders_.front()->device.name,
                         .provider = options.raw_provider,
                         .library = options.raw_libfabric,
                         .one_sided = options.raw_write,
                         .rails = rails};
  TRY(auto wire, RawWire::create(choice, session_.rendezvous, buffers_));
  subjects_.push_back(subject_of(*wire, session_, 1));
  const std::string name = rails == 1 ? "raw libfabric" : text("raw on %d NICs", rails);
  results_.subjects.push_back({.name = name, .rate = {}, .connects = {}});
  raw_.push_back(std::move(wire));
  return {};
}

Status PointToPoint::open() {
  TRY(contenders_, open_contenders(session_));
  const std::size_t bytes = std::max(session_.options.sizes.back(), kRateBytes);
  for (const std::string& name : contender_names(contenders_)) {
    results_.subjects.push_back({.name = name, .rate = {}, .connects = {}});
  }
  TRY(buffers_, WireBuffers::allocate(bytes * static_cast<std::size_t>(session_.options.sub_receives)));
  for (const auto& contender : contenders_) TRY_VOID(open_plugin(*contender, bytes));
  if (session_.options.raw) TRY_VOID(open_raw(1));
  if (session_.options.raw_rails > 1) TRY_VOID(open_raw(session_.options.raw_rails));
  return {};
}

Status PointToPoint::close() {
  TRY_VOID(session_.rendezvous.barrier());
  for (const auto& contender : contenders_) TRY_VOID(contender->mesh.close());
  return {};
}

template <class Visit>
Status PointToPoint::in_rounds(const std::string& what, Visit visit) {
  for (int round = 0; round < session_.options.rounds; ++round) {
    progress_.show(text("p2p %s: round %d of %d", what.c_str(), round + 1, session_.options.rounds));
    for (std::size_t turn = 0; turn < subjects_.size(); ++turn) {
      TRY_VOID(visit(round % 2 == 0 ? turn : subjects_.size() - 1 - turn));
    }
  }
  return {};
}

Result<int> PointToPoint::iterations_for(std::size_t bytes) {
  double slowest = 0;
  for (const Subject& subject : subjects_) {
    TRY(const double seconds, subject.latency(bytes, std::max(1, session_.options.warmup)));
    slowest = std::max(slowest, seconds);
  }
  // Both ranks must do the same: rank 0's clock counts.
  TRY(const std::vector<double> all, session_.rendezvous.all_gather_value(slowest));
  const double fitting = kRoundSeconds / (2 * std::max(all[0], 1e-9));
  const int least = std::min(session_.options.iterations, 10);
  return std::max(least, static_cast<int>(std::min<double>(fitting, session_.options.iterations)));
}

Result<std::size_t> PointToPoint::check(const Subject& subject, std::size_t bytes) {
  std::size_t mine = 0;
  for (int i = 1; i <= session_.options.checks; ++i) {
    const auto iteration = static_cast<std::uint64_t>(i);
    buffers_.fill(session_.rank(), bytes * subject.parts, iteration);
    TRY_VOID(subject.swap(bytes));
    mine += buffers_.wrong(session_.rank(), bytes * subject.parts, iteration);
  }
  TRY(const std::vector<std::size_t> all, session_.rendezvous.all_gather_value(mine));
  return std::accumulate(all.begin(), all.end(), std::size_t{0});
}

Result<P2pRow> PointToPoint::measure(std::size_t bytes) {
  P2pRow row{.bytes = bytes, .measured = std::vector<P2pMeasured>(subjects_.size())};
  TRY(const int iterations, iterations_for(bytes));
  TRY_VOID(in_rounds(size_text(bytes) + " latency", [&](std::size_t i) -> Status {
    TRY(const double seconds, subjects_[i].latency(bytes, iterations));
    row.measured[i].latency.push_back(seconds);
    return {};
  }));
  // In flight together, messages take less time each.
  const int count = std::max(4 * iterations, 2 * kStreamDepth);
  TRY_VOID(in_rounds(size_text(bytes) + " bandwidth", [&](std::size_t i) -> Status {
    TRY(const double seconds, subjects_[i].stream(bytes, count));
    const double total = static_cast<double>(bytes * subjects_[i].parts) * count;
    row.measured[i].bandwidth.push_back(seconds > 0 ? total / seconds : 0);
    return {};
  }));
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    TRY(row.measured[i].wrong, check(subjects_[i], bytes));
    wrong_ += row.measured[i].wrong;
  }
  return row;
}

Status PointToPoint::measure_rates() {
  TRY(const int iterations, iterations_for(kRateBytes));
  const int count = 8 * iterations;
  return in_rounds("message rate", [&](std::size_t i) -> Status {
    TRY(const double seconds, subjects_[i].stream(kRateBytes, count));
    const double messages = static_cast<double>(subjects_[i].parts) * count;
    results_.subjects[i].rate.push_back(seconds > 0 ? messages / seconds : 0);
    return {};
  });
}

Status PointToPoint::measure_connects() {
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    Contender& contender = *contenders_[i];
    results_.subjects[i].first_connect_s = contender.mesh.connect_s;
    for (int pair = 0; pair < session_.options.connects; ++pair) {
      progress_.show(text("p2p connecting: pair %d of %d", pair + 1, session_.options.connects));
      TRY(Mesh mesh, connect_mesh(*contender.plugin, plan(), session_.rendezvous, session_.idle));
      TRY(const std::vector<double> times, session_.rendezvous.all_gather_value(mesh.connect_s));
      results_.subjects[i].connects.push_back(std::ranges::max(times));
      TRY_VOID(mesh.close());
    }
  }
  return {};
}

void PointToPoint::print_header() const {
  const Options& options = session_.options;
  std::printf("# weft-bench p2p: 2 ranks\n");
  for (const auto& contender : contenders_) std::printf("# %s\n", contender_text(*contender).c_str());
  for (const auto& wire : raw_) std::printf("# raw libfabric: %s\n", wire->description().c_str());
  std::printf("# latency: half a round trip; bandwidth: rank 0 to rank 1, %d messages in flight\n", kStreamDepth);
  if (options.sub_receives > 1)
    std::printf("# each message is %d sends of the size given, met by one grouped receive\n", options.sub_receives);
  std::printf("# up to %d round trips a round, median of %d rounds, %d checked; ratios: median of the rounds'\n#\n%s",
              options.iterations, options.rounds, options.checks, p2p_header(results_.subjects).c_str());
  std::fflush(stdout);
}

void PointToPoint::print_footer() const {
  std::printf("#\n%s", p2p_summary(results_).c_str());
  if (session_.options.checks > 0) {
    std::printf("# Out of bounds values : %zu %s\n", wrong_, wrong_ == 0 ? "OK" : "FAILED");
  } else {
    std::printf("# Out of bounds values : not checked (-c 0)\n");
  }
  std::fflush(stdout);
}

Status PointToPoint::write_files() const {
  const Options& options = session_.options;
  if (!options.json.empty()) {
    nlohmann::ordered_json report = json_head(options, session_.size(), contenders_);
    add_p2p(report, results_);
    TRY_VOID(write_json(options.json, report));
  }
  if (options.plot.empty()) return {};
  return write_plot(options.gnuplot, options.plot, "point to point", p2p_panels(results_));
}

Result<std::size_t> PointToPoint::run() {
  const bool first = session_.is_first();
  if (first) TRY_VOID(check_output_files(session_.options));
  TRY_VOID(open());
  if (first) print_header();
  for (const std::size_t bytes : session_.options.sizes) {
    TRY(P2pRow row, measure(bytes));
    progress_.clear();
    if (first) std::printf("%s", p2p_row(row).c_str());
    if (first) std::fflush(stdout);
    results_.rows.push_back(std::move(row));
  }
  TRY_VOID(measure_rates());
  TRY_VOID(measure_connects());
  TRY_VOID(close());
  progress_.clear();
  if (first) print_footer();
  if (first) TRY_VOID(write_files());
  return wrong_;
}

}  // namespace

Result<std::size_t> run_point_to_point(const Session& session) {
  auto benchmark = std::make_unique<PointToPoint>(session);
  auto result = benchmark->run();
  // As in run_workload(): after an error nothing is closed.
  if (!result) (void)benchmark.release();
  return result;
}

}  // namespace weft::bench
