// Intervals of addresses, overlapping at will, and the question which of them contains a given one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

/// Maps half-open intervals to values that the caller owns. Lookup takes O(log n); insert and erase take O(n), a few
/// microseconds for thousands of intervals, where what follows them costs milliseconds. Not thread safe.
template <class Value>
class IntervalIndex {
 public:
  /// A value whose interval contains [begin, end); null if there is none.
  Value* find(std::uintptr_t begin, std::uintptr_t end) const noexcept {
    const auto after = first_after(begin);
    if (after == items_.begin()) return nullptr;
    const Item& widest = items_[std::prev(after)->widest];
    return widest.end >= end ? widest.value : nullptr;
  }

  void insert(std::uintptr_t begin, std::uintptr_t end, Value* value) {
    const auto place = items_.insert(first_after(begin), Item{begin, end, value, 0});
    update_from(static_cast<std::size_t>(place - items_.begin()));
  }

  /// Removes `value`, which was inserted with this `begin`.
  void erase(std::uintptr_t begin, const Value* value) noexcept {
    for (auto item = first_after(begin); item != items_.begin();) {
      if ((--item)->value != value) continue;
      update_from(static_cast<std::size_t>(items_.erase(item) - items_.begin()));
      return;
    }
  }

  bool empty() const noexcept { return items_.empty(); }

 private:
  struct Item {
    std::uintptr_t begin;
    std::uintptr_t end;
    Value* value;
    /// Which of the items up to this one ends last. All of them begin no later, so if any item contains an interval
    /// that begins here or after, this one does.
    std::size_t widest;
  };

  auto first_after(std::uintptr_t begin) const noexcept {
    return std::upper_bound(items_.begin(), items_.end(), begin,
                            [](std::uintptr_t at, const Item& item) { return at < item.begin; });
  }
  auto first_after(std::uintptr_t begin) noexcept {
    return items_.begin() + (static_cast<const IntervalIndex&>(*this).first_after(begin) - items_.cbegin());
  }
  void update_from(std::size_t first) noexcept {
    for (std::size_t i = first; i < items_.size(); ++i) {
      const std::size_t before = i == 0 ? 0 : items_[i - 1].widest;
      items_[i].widest = i == 0 || items_[i].end > items_[before].end ? i : before;
    }
  }

  std::vector<Item> items_;  ///< by begin
};

}  // namespace weft
