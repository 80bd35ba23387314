#include "weft/params.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace weft {
namespace {

constexpr std::string_view kPrefix = "WEFT_";
/// Variables of our own programs and tests, which the plugin neither reads nor minds.
constexpr std::array<std::string_view, 3> kForeignPrefixes = {"WEFT_BENCH_", "WEFT_LAB_", "WEFT_TEST_"};

enum class OnBad { kUseDefault, kRefuse };

constexpr std::array kVariables = {
#define WEFT_TEXT(name, variable, initial, help) std::string_view(variable),
#define WEFT_INTEGER(name, variable, initial, lowest, highest, unit, help) std::string_view(variable),
#define WEFT_SWITCH(name, variable, initial, on_bad, help) std::string_view(variable),
#include "weft/params.def"
};

#define WEFT_INTEGER(name, variable, initial, lowest, highest, unit, help) \
  static_assert(lowest <= initial && initial <= highest, variable ": the default is out of its range");
#include "weft/params.def"

std::optional<int> parse_integer(std::string_view text, int lowest, int highest) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < lowest || value > highest) return {};
  return value;
}

std::optional<bool> parse_switch(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (text == "1" || text == "on" || text == "yes" || text == "true") return true;
  if (text == "0" || text == "off" || text == "no" || text == "false") return false;
  return {};
}

/// Reads one row after the other into the parameters, and keeps what must be said about them.
class Loader {
 public:
  explicit Loader(const Environment& environment) : environment_(environment) {}

  void text(std::string& value, const char* variable) {
    if (const auto* given = find(variable)) value = *given;
  }

  void integer(int& value, const char* variable, int lowest, int highest, const char* unit) {
    const auto* given = find(variable);
    if (given == nullptr) return;
    if (const auto parsed = parse_integer(*given, lowest, highest)) {
      value = *parsed;
      return;
    }
    loaded_.warnings.push_back(std::string(variable) + " is \"" + *given + "\", but must be a whole number from " +
                               std::to_string(lowest) + " to " + std::to_string(highest) + " (" + unit +
                               "): going on with the default, " + std::to_string(value));
  }

  void toggle(bool& value, const char* variable, OnBad on_bad) {
    const auto* given = find(variable);
    if (given == nullptr) return;
    if (const auto parsed = parse_switch(*given)) {
      value = *parsed;
      return;
    }
    const std::string problem = std::string(variable) + " is \"" + *given + "\", but must be 0 or 1";
    if (on_bad == OnBad::kRefuse) {
      if (!refusal_) refusal_ = problem + ": correct or unset it";
    } else {
      loaded_.warnings.push_back(problem + ": going on with the default, " + (value ? "1" : "0"));
    }
  }

  Params& params() { return loaded_.params; }

  Result<LoadedParams> finish() {
    warn_of_unknown();
    if (refusal_) return fail(Code::kArgument, std::move(*refusal_));
    return std::move(loaded_);
  }

 private:
  const std::string* find(const char* variable) const {
    const auto entry = environment_.find(variable);
    return entry == environment_.end() || entry->second.empty() ? nullptr : &entry->second;
  }

  void warn_of_unknown();

  const Environment& environment_;
  LoadedParams loaded_;
  std::optional<std::string> refusal_;
};

/// Levenshtein's distance: letters to add, drop or replace to get from one word to the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[to.size()];
}

/// The variable that was probably meant, or nothing if none is near: half the letters may be wrong.
std::optional<std::string_view> nearest_variable(std::string_view name) {
  const std::string_view word = name.substr(kPrefix.size());
  const auto distance = [word](std::string_view other) { return edit_distance(word, other.substr(kPrefix.size())); };
  const std::string_view nearest = *std::ranges::min_element(kVariables, {}, distance);
  if (distance(nearest) * 2 > std::max(word.size(), nearest.size() - kPrefix.size())) return {};
  return nearest;
}

void Loader::warn_of_unknown() {
  for (const auto& [name, value] : environment_) {
    if (std::ranges::find(kVariables, name) != kVariables.end()) continue;
    if (std::ranges::any_of(kForeignPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }))
      continue;
    std::string text = name + " is not a parameter of this version and does nothing";
    if (const auto nearest = nearest_variable(name)) text += "; did you mean " + std::string(*nearest) + "?";
    loaded_.warnings.push_back(std::move(text));
  }
}

std::string row(const char* variable, const std::string& initial, const std::string& values, const char* help) {
  return std::string("| `") + variable + "` | " + initial + " | " + values + " | " + help + " |\n";
}

}  // namespace

Environment process_environment() {
  Environment found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

Result<LoadedParams> load_params(const Environment& environment) {
  Loader loader(environment);
  Params& params = loader.params();
#define WEFT_TEXT(name, variable, initial, help) loader.text(params.name, variable);
#define WEFT_INTEGER(name, variable, initial, lowest, highest, unit, help) \
  loader.integer(params.name, variable, lowest, highest, unit);
#define WEFT_SWITCH(name, variable, initial, on_bad, help) loader.toggle(params.name, variable, OnBad::on_bad);
#include "weft/params.def"
  return loader.finish();
}

std::string params_markdown() {
  std::string table = "| Variable | Default | Values | Meaning |\n|---|---|---|---|\n";
#define WEFT_TEXT(name, variable, initial, help) table += row(variable, *initial ? initial : "empty", "text", help);
#define WEFT_INTEGER(name, variable, initial, lowest, highest, unit, help) \
  table += row(variable, std::to_string(initial),                          \
               std::to_string(lowest) + " to " + std::to_string(highest) + " " unit, help);
#define WEFT_SWITCH(name, variable, initial, on_bad, help) table += row(variable, initial ? "1" : "0", "0, 1", help);
#include "weft/params.def"
  return table;
}

}  // namespace weft
