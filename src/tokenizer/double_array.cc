#include "tokenizer/double_array.h"

#include <algorithm>

namespace inlay {
namespace {

constexpr uint32_t kBlock = 256;
constexpr uint32_t kMaxUnits = 1U << 23;
// Free units of older blocks are given up, which bounds the search for a place.
constexpr uint32_t kOpenBlocks = 16;

}  // namespace

// Units live in blocks of 256; a base and its children are always in one block. Block 0 belongs to base 0, the base of nodes
// without children: no unit there is ever a child. Free units of the open blocks form a ring.
class DoubleArrayBuilder {
 public:
  using Entries = std::vector<std::pair<std::string_view, int32_t>>;

  explicit DoubleArrayBuilder(const Entries& entries) : entries_(entries) {}

  Result<DoubleArray> build() {
    units_.resize(kBlock);
    state_.resize(kBlock, State{.is_taken = true});
    add_block();
    take(DoubleArray::kRoot, 0);
    pending_.push_back({DoubleArray::kRoot, 0, entries_.size(), 0});
    while (!pending_.empty()) {
      const Range range = pending_.back();
      pending_.pop_back();
      if (!place_children(range)) return fail(ErrorCode::kTooLarge, "vocabulary needs more than {} trie nodes", kMaxUnits);
    }
    for (uint32_t block = 0; block < units_.size() / kBlock; ++block) close(block);
    DoubleArray result;
    result.units_ = std::move(units_);
    return result;
  }

 private:
  // The node that stands for the first `depth` bytes of entries [begin, end).
  struct Range {
    DoubleArray::Node node;
    size_t begin;
    size_t end;
    size_t depth;
  };
  struct State {
    uint32_t next = 0;
    uint32_t previous = 0;
    bool is_taken = false;
    bool is_base = false;
  };

  bool place_children(Range range) {
    if (range.begin < range.end && entries_[range.begin].first.size() == range.depth) {
      units_[range.node].value = entries_[range.begin++].second;
    }
    if (range.begin == range.end) return true;
    children_.clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      const uint8_t byte = static_cast<uint8_t>(entries_[i].first[range.depth]);
      if (children_.empty() || children_.back().byte != byte) children_.push_back({byte, i});
    }
    const uint32_t base = find_base();
    if (base == 0) return false;
    state_[base].is_base = true;
    units_[range.node].link |= base << 8;
    for (size_t i = 0; i < children_.size(); ++i) {
      const uint32_t unit = base ^ children_[i].byte;
      take(unit, children_[i].byte);
      const size_t end = i + 1 < children_.size() ? children_[i + 1].begin : range.end;
      pending_.push_back({unit, children_[i].begin, end, range.depth + 1});
    }
    return true;
  }

  // A base whose children all fall on free units; 0 if the array is full.
  uint32_t find_base() {
    uint32_t unit = free_;
    if (unit != 0) {
      do {
        const uint32_t base = unit ^ children_.front().byte;
        if (fits(base)) return base;
        unit = state_[unit].next;
      } while (unit != free_);
    }
    if (units_.size() >= kMaxUnits) return 0;
    const uint32_t block = static_cast<uint32_t>(units_.size());
    add_block();
    return block;
  }

  bool fits(uint32_t base) const {
    if (state_[base].is_base) return false;
    return std::none_of(children_.begin(), children_.end(),
                        [&](const Child& child) { return state_[base ^ child.byte].is_taken; });
  }

  void add_block() {
    const uint32_t begin = static_cast<uint32_t>(units_.size());
    units_.resize(begin + kBlock);
    state_.resize(begin + kBlock);
    for (uint32_t unit = begin; unit < begin + kBlock; ++unit) link_free(unit);
    if (begin >= kOpenBlocks * kBlock) {
      const uint32_t oldest = begin - kOpenBlocks * kBlock;
      for (uint32_t unit = oldest; unit < oldest + kBlock; ++unit) {
        if (!state_[unit].is_taken) unlink_free(unit);
      }
    }
  }

  void link_free(uint32_t unit) {
    if (free_ == 0) {
      state_[unit].next = state_[unit].previous = free_ = unit;
      return;
    }
    const uint32_t last = state_[free_].previous;
    state_[unit].next = free_;
    state_[unit].previous = last;
    state_[last].next = state_[free_].previous = unit;
  }

  void unlink_free(uint32_t unit) {
    const State state = state_[unit];
    if (state.next == unit) {
      free_ = 0;
      return;
    }
    state_[state.previous].next = state.next;
    state_[state.next].previous = state.previous;
    if (free_ == unit) free_ = state.next;
  }

  void take(uint32_t unit, uint8_t byte) {
    unlink_free(unit);
    state_[unit].is_taken = true;
    units_[unit].link = byte;
  }

  // Gives every free unit of the block a byte that no base of the block reaches it by.
  void close(uint32_t block) {
    const uint32_t begin = block * kBlock;
    uint32_t unused = begin;
    while (unused < begin + kBlock && (unused == 0 || state_[unused].is_base)) ++unused;
    for (uint32_t unit = begin; unit < begin + kBlock; ++unit) {
      // Block 0 and the root are nobody's children either.
      const bool is_child = state_[unit].is_taken && unit > DoubleArray::kRoot;
      if (!is_child) units_[unit].link = (units_[unit].link & ~0xFFU) | ((unit ^ unused) & 0xFFU);
    }
  }

  struct Child {
    uint8_t byte;
    size_t begin;
  };

  const Entries& entries_;
  std::vector<DoubleArray::Unit> units_;
  std::vector<State> state_;
  std::vector<Range> pending_;
  std::vector<Child> children_;
  uint32_t free_ = 0;  // some free unit, 0 if there is none
};

Result<DoubleArray> DoubleArray::build(const std::vector<std::pair<std::string_view, int32_t>>& entries) {
  return DoubleArrayBuilder(entries).build();
}

}  // namespace inlay
