// A lock-free queue of many producers and one consumer, who takes everything at once.
#pragma once

#include <atomic>

namespace inlay {

// T has a member `T* next_in_inbox` that belongs to the inbox while the item is in it. Items are owned by others.
template <class T>
class Inbox {
 public:
  void push(T& item) {
    T* newest = newest_.load(std::memory_order_relaxed);
    do {
      item.next_in_inbox = newest;
    } while (!newest_.compare_exchange_weak(newest, &item, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  bool empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

  // The items in the order of their arrival, linked by next_in_inbox; null if there are none.
  T* take_all() {
    T* newest = newest_.exchange(nullptr, std::memory_order_seq_cst);
    T* oldest = nullptr;
    while (newest != nullptr) {
      T* const older = newest->next_in_inbox;
      newest->next_in_inbox = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

 private:
  std::atomic<T*> newest_ = nullptr;
};

}  // namespace inlay
