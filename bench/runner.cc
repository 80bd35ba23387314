#include "bench/runner.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "bench/contender.h"
#include "bench/progress.h"
#include "bench/report.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/text.h"
#include "bench/workload.h"

namespace weft::bench {
namespace {

/// The measuring of one session. The timed iterations all use iteration number 0's data; checked ones have their own.
class Runner {
 public:
  explicit Runner(const Session& session)
      : session_(session), progress_(session.is_first()), wrong_(static_cast<std::size_t>(session.size())) {}

  Result<std::size_t> run();

 private:
  Status open();
  Status close();
  Result<Row> measure(std::size_t row);
  Result<double> time_round(Workload& workload);
  Result<std::size_t> gather_wrong(std::size_t mine);
  Status check(Workload& workload, Measured& measured);
  void print_header();
  void print_footer() const;
  Status write_files() const;

  Session session_;
  Progress progress_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::vector<std::unique_ptr<Workload>> workloads_;  ///< one per contender
  std::vector<std::string> names_;
  std::vector<Row> rows_;
  std::vector<std::size_t> wrong_;  ///< elements, by rank
};

Status Runner::open() {
  TRY(contenders_, open_contenders(session_));
  for (const auto& contender : contenders_) {
    TRY(contender->mesh, connect_mesh(*contender->plugin, mesh_plan(session_), session_.rendezvous, session_.idle));
    TRY(auto workload, make_workload(session_, contender->mesh));
    workloads_.push_back(std::move(workload));
  }
  names_ = contender_names(contenders_);
  return {};
}

Status Runner::close() {
  // No rank closes while another may still have something in flight.
  TRY_VOID(session_.rendezvous.barrier());
  for (const auto& contender : contenders_) TRY_VOID(contender->mesh.close());
  return {};
}

Result<double> Runner::time_round(Workload& workload) {
  TRY_VOID(session_.rendezvous.barrier());
  const auto start = Clock::now();
  for (int i = 0; i < session_.options.iterations; ++i) TRY_VOID(workload.run());
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  TRY(const std::vector<double> all,
      session_.rendezvous.all_gather_value(elapsed.count() / session_.options.iterations));
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

Result<std::size_t> Runner::gather_wrong(std::size_t mine) {
  TRY(const std::vector<std::size_t> all, session_.rendezvous.all_gather_value(mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) wrong_[rank] += all[rank];
  return std::accumulate(all.begin(), all.end(), std::size_t{0});
}

Status Runner::check(Workload& workload, Measured& measured) {
  // What the timed iterations left behind, then fresh data per iteration.
  std::size_t mine = workload.wrong(0);
  for (int i = 1; i <= session_.options.checks; ++i) {
    const auto iteration = static_cast<std::uint64_t>(i);
    workload.fill(iteration);
    TRY_VOID(workload.run());
    mine += workload.wrong(iteration);
  }
  TRY(measured.wrong, gather_wrong(mine));
  return {};
}

Result<Row> Runner::measure(std::size_t row) {
  const Options& options = session_.options;
  Row result{.shape = workloads_.front()->shape(row), .measured = std::vector<Measured>(workloads_.size())};
  const std::string what = text("%s %s", command_name(options.command), size_text(result.shape.bytes).c_str());
  for (const auto& workload : workloads_) {
    workload->select(row);
    workload->fill(0);
    for (int i = 0; i < options.warmup; ++i) TRY_VOID(workload->run());
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t turn = 0; turn < workloads_.size(); ++turn) {
      // Whoever comes first in one round comes last in the next, so that neither profits from its place.
      const std::size_t index = round % 2 == 0 ? turn : workloads_.size() - 1 - turn;
      progress_.show(text("%s: %s, round %d of %d", what.c_str(), names_[index].c_str(), round + 1, options.rounds));
      TRY(const double seconds, time_round(*workloads_[index]));
      result.measured[index].seconds.push_back(seconds);
    }
  }
  if (options.checks > 0) {
    progress_.show(what + ": checking");
    for (std::size_t i = 0; i < workloads_.size(); ++i) TRY_VOID(check(*workloads_[i], result.measured[i]));
  }
  return result;
}

void Runner::print_header() {
  const Options& options = session_.options;
  std::printf("# weft-bench %s: %d ranks\n", command_name(options.command), session_.size());
  for (const auto& contender : contenders_) std::printf("# %s\n", contender_text(*contender).c_str());
  std::printf("# %d connection%s per neighbour, %d messages of at most %s in flight on each\n", options.channels,
              options.channels == 1 ? "" : "s", options.depth, size_text(options.chunk).c_str());
  std::printf("# %d iterations after %d to warm up, median of %d round%s, %d checked\n", options.iterations,
              options.warmup, options.rounds, options.rounds == 1 ? "" : "s", options.checks);
  if (const std::string note = workloads_.front()->note(); !note.empty()) std::printf("# %s\n", note.c_str());
  std::printf("#\n%s", table_header(names_, !workloads_.front()->shape(0).label.empty()).c_str());
  std::fflush(stdout);
}

void Runner::print_footer() const {
  const std::size_t wrong = std::accumulate(wrong_.begin(), wrong_.end(), std::size_t{0});
  std::printf("#\n");
  if (session_.options.checks > 0) {
    std::printf("# Out of bounds values : %zu %s\n", wrong, wrong == 0 ? "OK" : "FAILED");
  } else {
    std::printf("# Out of bounds values : not checked (-c 0)\n");
  }
  for (std::size_t rank = 0; rank < wrong_.size(); ++rank) {
    if (wrong_[rank] > 0) std::printf("# rank %zu received %zu wrong elements\n", rank, wrong_[rank]);
  }
  for (std::size_t i = 0; i < names_.size(); ++i) {
    double sum = 0;
    for (const Row& row : rows_) sum += row.measured[i].bus_bandwidth(row.shape);
    std::printf("# Avg bus bandwidth    : %.4g GB/s%s%s\n", sum / static_cast<double>(rows_.size()),
                names_.size() > 1 ? "  " : "", names_.size() > 1 ? names_[i].c_str() : "");
  }
  std::fflush(stdout);
}

Status Runner::write_files() const {
  const Options& options = session_.options;
  if (!options.json.empty()) {
    TRY_VOID(write_json(options.json, json_of(json_head(options, session_.size(), contenders_), rows_)));
  }
  if (options.plot.empty()) return {};
  const std::string title = text("%s, %d ranks", command_name(options.command), session_.size());
  return write_plot(options.gnuplot, options.plot, title, panels_of(rows_, names_));
}

Result<std::size_t> Runner::run() {
  const bool first = session_.is_first();
  if (first) TRY_VOID(check_output_files(session_.options));
  TRY_VOID(open());
  if (first) print_header();
  const bool labelled = !workloads_.front()->shape(0).label.empty();
  for (std::size_t row = 0; row < workloads_.front()->rows(); ++row) {
    TRY(Row measured, measure(row));
    progress_.clear();
    if (first) std::printf("%s", table_row(measured, labelled).c_str());
    if (first) std::fflush(stdout);
    rows_.push_back(std::move(measured));
  }
  TRY_VOID(close());
  if (first) print_footer();
  if (first) TRY_VOID(write_files());
  return std::accumulate(wrong_.begin(), wrong_.end(), std::size_t{0});
}

}  // namespace

Result<std::size_t> run_workload(const Session& session) {
  auto runner = std::make_unique<Runner>(session);
  auto result = runner->run();
  // After an error nothing is closed: a plugin in an unknown state may hang in there, and the process is about to end.
  if (!result) (void)runner.release();
  return result;
}

}  // namespace weft::bench
