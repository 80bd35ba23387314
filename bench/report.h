// Where results go besides the terminal: the JSON file and the plot.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/options.h"
#include "bench/plot.h"
#include "bench/table.h"
#include "weft/result.h"

namespace weft::bench {

/// Fails early, before anything is measured, if a file that is asked for cannot be written.
Status check_output_files(const Options& options);

/// "plugin Weft (v12, /path/lib.so) on eth0, 10 Gb/s".
std::string contender_text(const Contender& contender);
/// The names of the plugins for column titles and legends; told apart by file where they are the same.
std::vector<std::string> contender_names(const std::vector<std::unique_ptr<Contender>>& contenders);

/// What every JSON report begins with: benchmark, command line, ranks, plugins.
nlohmann::ordered_json json_head(const Options& options, int ranks,
                                 const std::vector<std::unique_ptr<Contender>>& contenders);
Status write_json(const std::string& file, const nlohmann::ordered_json& report);

/// The whole JSON report of a collective benchmark.
nlohmann::ordered_json json_of(const nlohmann::ordered_json& head, const std::vector<Row>& rows);
/// Bus bandwidth over size, one curve per plugin.
std::vector<Panel> panels_of(const std::vector<Row>& rows, const std::vector<std::string>& names);

}  // namespace weft::bench
