#include "plugin/interface_filter.h"

#include <algorithm>

namespace weft::plugin {
namespace {

std::unexpected<Error> malformed(std::string_view text, const char* why) {
  return fail(Code::kArgument, "WEFT_INTERFACES is \"" + std::string(text) + "\": " + why +
                                   "; write names separated by commas, such as eth0,eth1 or ^docker0,lo");
}

}  // namespace

Result<InterfaceFilter> InterfaceFilter::parse(std::string_view text) {
  InterfaceFilter filter;
  filter.text_ = text;
  if (text.empty()) return filter;
  std::string_view rest = text;
  if (rest.starts_with('^')) {
    filter.exclude_ = true;
    rest.remove_prefix(1);
  }
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    more = comma != std::string_view::npos;
    std::string_view name = rest.substr(0, comma);
    if (more) rest.remove_prefix(comma + 1);
    const bool exact = name.starts_with('=');
    if (exact) name.remove_prefix(1);
    if (name.empty()) return malformed(text, "a name is empty");
    if (name.find_first_of("^= \t") != std::string_view::npos) {
      return malformed(text, "^ may stand only before the whole list, = only before a name, and blanks nowhere");
    }
    filter.patterns_.push_back({std::string(name), exact});
  }
  return filter;
}

bool InterfaceFilter::matches(std::string_view interface) const {
  return std::ranges::any_of(patterns_, [interface](const Pattern& pattern) {
    if (!pattern.exact) return interface.starts_with(pattern.name);
    // libfabric calls EFA's rdmap85s0 by its endpoint type too.
    return interface == pattern.name || interface == pattern.name + "-rdm";
  });
}

bool InterfaceFilter::admits(std::string_view interface) const {
  if (is_empty()) return true;
  return matches(interface) != exclude_;
}

}  // namespace weft::plugin
