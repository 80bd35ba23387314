#include "topology/nic_filter.h"

#include <algorithm>

namespace weft::topology {
namespace {

/// libfabric calls the NIC rdmap85s0 by its endpoint type too: rdmap85s0-rdm.
std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {"-rdm", "-dgrm"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

std::string names_of(std::span<const Nic> nics) {
  std::string text;
  for (const Nic& nic : nics) {
    text += (text.empty() ? "" : ", ") + nic.name + (nic.address ? " (" + nic.address->text() + ")" : "");
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Result<NicList> NicList::parse(std::string_view variable, std::string_view text) {
  NicList list;
  list.variable_ = variable;
  if (text.empty()) return list;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    Entry entry{std::string(rest.substr(0, comma)), {}, false};
    if (entry.text.empty() || entry.text.find_first_of(" \t") != std::string::npos) {
      return fail(Code::kArgument,
                  list.variable_ + " is \"" + std::string(text) +
                      "\": write names, PCI addresses or cards separated by commas, without blanks, such "
                      "as rdmap85s0,0000:56:00.0,0000:57:00");
    }
    entry.address = PciAddress::parse(entry.text);
    if (!entry.address) {
      entry.address = PciAddress::parse(entry.text + ".0");
      entry.whole_card = entry.address.has_value();
    }
    list.entries_.push_back(std::move(entry));
    if (comma == std::string_view::npos) return list;
    rest.remove_prefix(comma + 1);
  }
}

bool NicList::Entry::names(const Nic& nic) const {
  if (without_suffix(text) == without_suffix(nic.name)) return true;
  if (!address || !nic.address) return false;
  PciAddress place = *nic.address;
  if (whole_card) place.function = 0;
  return place == *address;
}

bool NicList::names(const Nic& nic) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.names(nic); });
}

std::vector<std::string> NicList::unmatched(std::span<const Nic> nics) const {
  std::vector<std::string> found;
  for (const Entry& entry : entries_) {
    if (std::ranges::none_of(nics, [&](const Nic& nic) { return entry.names(nic); })) found.push_back(entry.text);
  }
  return found;
}

Result<std::vector<std::size_t>> choose_nics(std::span<const Nic> nics, const NicList& only, const NicList& except) {
  if (const auto unmatched = only.unmatched(nics); !unmatched.empty()) {
    return fail(Code::kMissing, only.variable() + " names " + unmatched.front() +
                                    ", which is no NIC here (there are: " + names_of(nics) + "); correct or unset it");
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    if ((only.is_empty() || only.names(nics[i])) && !except.names(nics[i])) chosen.push_back(i);
  }
  if (chosen.empty() && !nics.empty()) {
    return fail(Code::kMissing, except.variable() + (only.is_empty() ? "" : " and " + only.variable()) +
                                    " leave no NIC (there are: " + names_of(nics) + "); correct or unset it");
  }
  return chosen;
}

}  // namespace weft::topology
