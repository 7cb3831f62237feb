// A read-only map from byte strings to ids that is walked byte by byte: one memory access a byte, so that a model finds the
// longest piece at a place in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace inlay {

class DoubleArray {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 256;
  static constexpr int32_t kNoValue = -1;

  // `entries` are sorted by key; keys are unique; values are not negative. kTooLarge beyond 2^23 nodes.
  static Result<DoubleArray> build(const std::vector<std::pair<std::string_view, int32_t>>& entries);

  // Moves `node` along `byte`; false, and `node` is unchanged, if no key goes on that way.
  bool step(Node& node, char byte) const {
    const Node next = (units_[node].link >> 8) ^ static_cast<uint8_t>(byte);
    if ((units_[next].link & 0xFFU) != static_cast<uint8_t>(byte)) return false;
    node = next;
    return true;
  }

  // The value of the key that ends at `node`, or kNoValue.
  int32_t value(Node node) const { return units_[node].value; }

  // The node after `key` from `node`; false if there is none.
  bool walk(Node& node, std::string_view key) const {
    for (const char byte : key) {
      if (!step(node, byte)) return false;
    }
    return true;
  }

  int32_t find(std::string_view key) const {
    Node node = kRoot;
    return walk(node, key) ? value(node) : kNoValue;
  }

 private:
  friend class DoubleArrayBuilder;

  // The child of a node along byte b is the unit at `base ^ b`, and a unit carries the byte by which it is reached. No two
  // nodes share a base, so the byte alone tells whether the unit is a child of the node that asks.
  struct Unit {
    uint32_t link = 0;  // base << 8 | byte
    int32_t value = kNoValue;
  };

  std::vector<Unit> units_;
};

}  // namespace inlay
