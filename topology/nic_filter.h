// The user's choice of NICs: WEFT_NICS and WEFT_NICS_EXCLUDE.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/rail_groups.h"
#include "weft/result.h"

namespace weft::topology {

/// A list of NICs, separated by commas. Each entry is a NIC's name ("rdmap85s0"), its PCI address ("0000:55:00.0",
/// "55:00.0"), or a card: the address without the function ("0000:55:00"), which means all functions of it.
class NicList {
 public:
  /// `variable`: for messages. An empty text makes an empty list.
  static Result<NicList> parse(std::string_view variable, std::string_view text);

  bool is_empty() const noexcept { return entries_.empty(); }
  bool names(const Nic& nic) const;
  /// Entries that name none of `nics`, in the order of the list.
  std::vector<std::string> unmatched(std::span<const Nic> nics) const;
  const std::string& variable() const noexcept { return variable_; }

 private:
  struct Entry {
    std::string text;
    std::optional<PciAddress> address;
    bool whole_card = false;
    bool names(const Nic& nic) const;
  };
  std::string variable_;
  std::vector<Entry> entries_;
};

/// Indices of the NICs that `only` names (all, where it is empty) and `except` does not, in their order. Fails when
/// an entry of `only` names no NIC, and when nothing is left: a typing mistake must not cost bandwidth in silence.
Result<std::vector<std::size_t>> choose_nics(std::span<const Nic> nics, const NicList& only, const NicList& except);

}  // namespace weft::topology
