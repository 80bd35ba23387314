// Fixed storage for the fake's data path, which must not disturb a test that counts allocations.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::test {

/// A doubly linked list of items that have members `T* next` and `T* previous` and belong to somebody else. An item
/// is in at most one list.
template <class T>
class List {
 public:
  T* front() const noexcept { return front_; }
  std::size_t size() const noexcept { return size_; }

  void push_back(T& item) noexcept {
    item.previous = back_;
    item.next = nullptr;
    (back_ != nullptr ? back_->next : front_) = &item;
    back_ = &item;
    ++size_;
  }
  void erase(T& item) noexcept {
    (item.previous != nullptr ? item.previous->next : front_) = item.next;
    (item.next != nullptr ? item.next->previous : back_) = item.previous;
    --size_;
  }
  /// Takes out every item that `pred` accepts and hands it to `then`.
  template <class Pred, class Then>
  void extract_if(Pred pred, Then then) {
    for (T* item = front_; item != nullptr;) {
      T* const next = item->next;
      if (pred(*item)) {
        erase(*item);
        then(*item);
      }
      item = next;
    }
  }

 private:
  T* front_ = nullptr;
  T* back_ = nullptr;
  std::size_t size_ = 0;
};

/// A fixed number of items, all made at once. Items come back with whatever was last in them.
template <class T>
class Pool {
 public:
  explicit Pool(std::size_t count) : items_(count) {
    for (T& item : items_) free_.push_back(item);
  }
  /// Null when all are in use.
  T* acquire() noexcept {
    T* const item = free_.front();
    if (item != nullptr) free_.erase(*item);
    return item;
  }
  void release(T& item) noexcept { free_.push_back(item); }
  std::size_t in_use() const noexcept { return items_.size() - free_.size(); }
  std::vector<T>& items() noexcept { return items_; }

 private:
  std::vector<T> items_;
  List<T> free_;
};

}  // namespace weft::test
