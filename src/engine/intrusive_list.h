// A doubly linked list whose links lie in its members: no allocation, and a member leaves in constant time.
#pragma once

#include <cstddef>

namespace inlay {

template <class T>
struct ListLinks {
  T* previous = nullptr;
  T* next = nullptr;
};

// Members are owned by others and must stay where they are while listed. `links` names the member that this list uses, so that
// an object can be in several lists.
template <class T, ListLinks<T> T::*links>
class IntrusiveList {
 public:
  bool empty() const { return front_ == nullptr; }
  size_t size() const { return size_; }
  T* front() const { return front_; }
  T* back() const { return back_; }
  T* next(const T& member) const { return (member.*links).next; }
  T* previous(const T& member) const { return (member.*links).previous; }

  void push_back(T& member) { insert_after(back_, member); }

  // At the front if `place` is null.
  void insert_after(T* place, T& member) {
    T* next = place == nullptr ? front_ : (place->*links).next;
    (member.*links) = {place, next};
    (place == nullptr ? front_ : (place->*links).next) = &member;
    (next == nullptr ? back_ : (next->*links).previous) = &member;
    ++size_;
  }

  void remove(T& member) {
    const ListLinks<T> at = member.*links;
    (at.previous == nullptr ? front_ : (at.previous->*links).next) = at.next;
    (at.next == nullptr ? back_ : (at.next->*links).previous) = at.previous;
    member.*links = {};
    --size_;
  }

 private:
  T* front_ = nullptr;
  T* back_ = nullptr;
  size_t size_ = 0;
};

}  // namespace inlay
