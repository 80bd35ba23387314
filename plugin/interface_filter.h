// WEFT_INTERFACES: which network interfaces or NICs the user wants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/result.h"

namespace weft::plugin {

/// Immutable. Names match by prefix, or exactly where they begin with "="; a leading "^" turns the list into
/// what is not wanted, as in NCCL_SOCKET_IFNAME.
class InterfaceFilter {
 public:
  /// Fails, with the variable's name, for a list that holds no name, or a "^" behind the first place.
  static Result<InterfaceFilter> parse(std::string_view text);

  /// True when the user named `interface`: it is wanted even if it looks useless (loopback, no carrier).
  bool names(std::string_view interface) const { return !exclude_ && matches(interface); }
  /// True when `interface` may be used.
  bool admits(std::string_view interface) const;

  bool is_empty() const { return patterns_.empty(); }
  /// As the user wrote it.
  const std::string& text() const { return text_; }

 private:
  struct Pattern {
    std::string name;
    bool exact;
  };

  bool matches(std::string_view interface) const;

  std::string text_;
  std::vector<Pattern> patterns_;
  bool exclude_ = false;
};

}  // namespace weft::plugin
