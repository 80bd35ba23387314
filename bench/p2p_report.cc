#include "bench/p2p_report.h"

#include <nlohmann/json.hpp>

#include "bench/bandwidth.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/text.h"

namespace weft::bench {
namespace {

/// One figure of the summary: every subject's value, then the first one's ratio to each other.
std::string figure(const P2pResults& results, const std::string& title, const char* unit, double scale,
                   const std::vector<const std::vector<double>*>& values) {
  std::string line = text("# %-32s:", title.c_str());
  for (std::size_t i = 0; i < values.size(); ++i) {
    line += text("%s %s %.3f %s", i > 0 ? "," : "", results.subjects[i].name.c_str(), median(*values[i]) * scale, unit);
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    line += text(", ratio%s %.3f", values.size() > 2 ? (" to " + results.subjects[i].name).c_str() : "",
                 median_ratio(*values[0], *values[i]));
  }
  return line + "\n";
}

using Kind = std::vector<double> P2pMeasured::*;

/// One kind of values of all subjects.
std::vector<const std::vector<double>*> each(const P2pRow& row, Kind values) {
  std::vector<const std::vector<double>*> all;
  for (const P2pMeasured& measured : row.measured) all.push_back(&(measured.*values));
  return all;
}

}  // namespace

std::string p2p_header(const std::vector<P2pSubject>& subjects) {
  std::string names = text("#%11s", "");
  std::string titles = text("#%11s", "size");
  std::string units = text("#%11s", "(B)");
  for (const P2pSubject& subject : subjects) {
    names += text("  %-33.33s", subject.name.c_str());
    titles += text("  %8s %7s %8s %7s", "latency", "min", "bandw.", "#wrong");
    units += text("  %8s %7s %8s %7s", "(us)", "(us)", "(GB/s)", "");
  }
  for (std::size_t i = 1; i < subjects.size(); ++i) {
    names += text("  %-17.17s", subjects.size() > 2 ? ("to " + subjects[i].name).c_str() : "ratio");
    titles += text("  %8s %8s", "latency", "bandw.");
    units += text("  %8s %8s", "", "");
  }
  return names + "\n" + titles + "\n" + units + "\n";
}

std::string p2p_row(const P2pRow& row) {
  std::string line = text("%12zu", row.bytes);
  for (const P2pMeasured& each : row.measured) {
    line += text("   %s %s %8.3f %7zu", time_text(median(each.latency)).c_str(),
                 time_text(minimum(each.latency)).c_str(), median(each.bandwidth) / 1e9, each.wrong);
  }
  for (std::size_t i = 1; i < row.measured.size(); ++i) {
    line += text("  %8.3f %8.3f", median_ratio(row.measured[0].latency, row.measured[i].latency),
                 median_ratio(row.measured[0].bandwidth, row.measured[i].bandwidth));
  }
  return line + "\n";
}

std::string p2p_summary(const P2pResults& results) {
  const P2pRow& smallest = results.rows.front();
  const P2pRow& largest = results.rows.back();
  std::string summary;
  // "8 B", "64K".
  const auto named = [](std::size_t bytes) {
    const std::string size = size_text(bytes);
    return size + (size.back() >= '0' && size.back() <= '9' ? " B" : "");
  };
  summary += figure(results, named(smallest.bytes) + " latency", "us", 1e6, each(smallest, &P2pMeasured::latency));
  summary += figure(results, named(largest.bytes) + " bandwidth, 8 in flight", "GB/s", 1e-9,
                    each(largest, &P2pMeasured::bandwidth));
  std::vector<const std::vector<double>*> rates;
  for (const P2pSubject& subject : results.subjects) rates.push_back(&subject.rate);
  summary += figure(results, "8 B message rate, 8 in flight", "M/s", 1e-6, rates);
  for (const P2pSubject& subject : results.subjects) {
    if (subject.connects.empty()) continue;
    summary += text("# %-32s: %s %.3f ms at first, then %.3f ms (median of %zu, slowest %.3f ms)\n",
                    "Connecting a pair, both ways", subject.name.c_str(), subject.first_connect_s * 1e3,
                    median(subject.connects) * 1e3, subject.connects.size(),
                    *std::ranges::max_element(subject.connects) * 1e3);
  }
  return summary;
}

void add_p2p(nlohmann::ordered_json& report, const P2pResults& results) {
  using Json = nlohmann::ordered_json;
  Json subjects = Json::array();
  for (const P2pSubject& subject : results.subjects) {
    subjects.push_back({{"name", subject.name},
                        {"rate_8b_per_s", median(subject.rate)},
                        {"rate_ratio", median_ratio(results.subjects[0].rate, subject.rate)},
                        {"first_connect_ms", subject.first_connect_s * 1e3},
                        {"connect_ms", median(subject.connects) * 1e3}});
  }
  report["subjects"] = std::move(subjects);
  Json rows = Json::array();
  std::size_t wrong = 0;
  for (const P2pRow& row : results.rows) {
    Json measured = Json::array();
    for (const P2pMeasured& each : row.measured) {
      measured.push_back({{"latency_us", median(each.latency) * 1e6},
                          {"latency_min_us", minimum(each.latency) * 1e6},
                          {"bandwidth_gb_per_s", median(each.bandwidth) / 1e9},
                          {"latency_ratio", median_ratio(row.measured[0].latency, each.latency)},
                          {"bandwidth_ratio", median_ratio(row.measured[0].bandwidth, each.bandwidth)},
                          {"wrong", each.wrong}});
      wrong += each.wrong;
    }
    rows.push_back({{"size_bytes", row.bytes}, {"results", std::move(measured)}});
  }
  report["rows"] = std::move(rows);
  report["wrong"] = wrong;
}

std::vector<Panel> p2p_panels(const P2pResults& results) {
  Panel latency{.y_title = "latency, one way (us)", .logarithmic = true, .curves = {}};
  Panel bandwidth{.y_title = "bandwidth, 8 in flight (GB/s)", .logarithmic = false, .curves = {}};
  for (std::size_t i = 0; i < results.subjects.size(); ++i) {
    Curve latencies{results.subjects[i].name, {}};
    Curve bandwidths{results.subjects[i].name, {}};
    for (const P2pRow& row : results.rows) {
      const auto x = static_cast<double>(row.bytes);
      latencies.points.emplace_back(x, median(row.measured[i].latency) * 1e6);
      bandwidths.points.emplace_back(x, median(row.measured[i].bandwidth) / 1e9);
    }
    latency.curves.push_back(std::move(latencies));
    bandwidth.curves.push_back(std::move(bandwidths));
  }
  return {latency, bandwidth};
}

}  // namespace weft::bench
