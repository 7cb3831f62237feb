// The merges of a BPE model: which two tokens join, how soon, and into what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace inlay {

// A hash table with open addressing. Immutable once filled.
class MergeTable {
 public:
  static constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

  struct Merge {
    uint32_t rank = kNoRank;  // smaller ranks join first; kNoRank: the two do not join
    int32_t id = 0;           // of what they become
  };

  // Makes room for `count` pairs.
  explicit MergeTable(size_t count = 0) {
    size_t size = 16;
    while (size < count * 2) size *= 2;
    slots_.resize(size);
  }

  // Of equal pairs the last one counts.
  void put(int32_t left, int32_t right, Merge merge) { slots_[place(key(left, right))] = {key(left, right), merge}; }
  Merge find(int32_t left, int32_t right) const { return slots_[place(key(left, right))].merge; }

 private:
  static constexpr uint64_t kFree = std::numeric_limits<uint64_t>::max();  // ids are not negative

  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };

  static uint64_t key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  // Where the key is, or the free slot where it would go.
  size_t place(uint64_t key) const {
    const uint64_t hash = (key ^ key >> 29) * 0x9E3779B97F4A7C15U;
    const size_t mask = slots_.size() - 1;
    size_t at = (hash >> 32) & mask;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;
};

}  // namespace inlay
