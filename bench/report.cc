#include "bench/report.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/bandwidth.h"
#include "bench/text.h"

namespace weft::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Json json_of(const Measured& measured, const Shape& shape) {
  Json rounds = Json::array();
  for (const double seconds : measured.seconds) rounds.push_back(seconds * 1e6);
  return {{"time_us", measured.time() * 1e6},
          {"min_us", minimum(measured.seconds) * 1e6},
          {"algbw_gb_per_s", measured.algorithm_bandwidth(shape)},
          {"busbw_gb_per_s", measured.bus_bandwidth(shape)},
          {"wrong", measured.wrong},
          {"rounds_us", std::move(rounds)}};
}

}  // namespace

Status check_output_files(const Options& options) {
  for (const std::string& file : {options.json, options.plot}) {
    if (file.empty()) continue;
    const std::ofstream probe(file, std::ios::app);
    if (!probe) return fail(Code::kArgument, errno, text("cannot write %s: %s", file.c_str(), std::strerror(errno)));
  }
  return {};
}

std::string contender_text(const Contender& contender) {
  std::string line = text("plugin %s (v%d, %s) on %s", contender.plugin->name(), contender.plugin->abi(),
                          contender.plugin->path().c_str(), contender.device.name.c_str());
  if (contender.device.speed_mbps > 0) line += text(", %g Gb/s", contender.device.speed_mbps / 1000.0);
  return line;
}

std::vector<std::string> contender_names(const std::vector<std::unique_ptr<Contender>>& contenders) {
  std::vector<std::string> names;
  for (const auto& each : contenders) names.emplace_back(each->plugin->name());
  if (names.size() == 2 && names[0] == names[1]) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = text("%zu: %s (%s)", i + 1, names[i].c_str(), file_name(contenders[i]->plugin->path()).c_str());
    }
  }
  return names;
}

Json json_head(const Options& options, int ranks, const std::vector<std::unique_ptr<Contender>>& contenders) {
  Json plugins = Json::array();
  for (const auto& each : contenders) {
    plugins.push_back({{"name", each->plugin->name()},
                       {"abi", each->plugin->abi()},
                       {"path", each->plugin->path()},
                       {"device", each->device.name},
                       {"speed_mbps", each->device.speed_mbps}});
  }
  return {{"benchmark", command_name(options.command)},
          {"command_line", options.command_line},
          {"ranks", ranks},
          {"channels", options.channels},
          {"depth", options.depth},
          {"chunk_bytes", options.chunk},
          {"rounds", options.rounds},
          {"iterations", options.iterations},
          {"warmup", options.warmup},
          {"checks", options.checks},
          {"plugins", std::move(plugins)}};
}

Status write_json(const std::string& file, const Json& report) {
  std::ofstream out(file);
  // Names come from plugins and file systems, and need not be UTF-8.
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  out.close();
  if (!out) return fail(Code::kSystem, errno, text("cannot write %s: %s", file.c_str(), std::strerror(errno)));
  return {};
}

Json json_of(const Json& head, const std::vector<Row>& rows) {
  Json report = head;
  Json list = Json::array();
  std::size_t wrong = 0;
  for (const Row& row : rows) {
    Json results = Json::array();
    for (const Measured& each : row.measured) {
      results.push_back(json_of(each, row.shape));
      wrong += each.wrong;
    }
    Json entry = {{"size_bytes", row.shape.bytes},
                  {"count", row.shape.count},
                  {"type", row.shape.type},
                  {"redop", row.shape.redop}};
    if (!row.shape.label.empty()) entry["phase"] = row.shape.label;
    entry["results"] = std::move(results);
    if (row.measured.size() == 2) entry["ratio"] = row.speed_ratio();
    list.push_back(std::move(entry));
  }
  report["rows"] = std::move(list);
  report["wrong"] = wrong;
  return report;
}

std::vector<Panel> panels_of(const std::vector<Row>& rows, const std::vector<std::string>& names) {
  Panel panel{.y_title = "bus bandwidth (GB/s)", .logarithmic = false, .curves = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Rows with labels are curves of their own.
    for (const Row& row : rows) {
      const std::string name = row.shape.label.empty() ? names[i] : names[i] + ", " + row.shape.label;
      if (panel.curves.empty() || panel.curves.back().name != name) panel.curves.push_back({name, {}});
      panel.curves.back().points.emplace_back(static_cast<double>(row.shape.bytes),
                                              row.measured[i].bus_bandwidth(row.shape));
    }
  }
  return {panel};
}

}  // namespace weft::bench
