// Reads a Python pickle as data. Nothing is imported, called or built: what the pickle would call becomes a node that says what
// and with what, and names of anything outside a given list are errors. So a hostile file can do nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inlay {

// A pickle that makes more objects than this is refused; one of a model makes some 16 a tensor.
constexpr size_t kMaxPickleNodes = 2'000'000;

struct PickleNode {
  enum class Kind : uint8_t {
    kNone,
    kBool,        // number
    kInt,         // number
    kText,        // text: str or bytes
    kGlobal,      // text: "module name"
    kSequence,    // items: tuple or list
    kDict,        // items: key, value, key, value ...; OrderedDict too
    kCall,        // items: a global and the sequence of arguments
    kPersistent,  // items: what names an object outside of the pickle
    kOther,       // a number that is no 64-bit integer
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  std::string_view text = {};        // in the pickle
  std::vector<uint32_t> items = {};  // indices of nodes; a node may be an item of many, itself included
};

struct Pickle {
  std::vector<PickleNode> nodes;
  uint32_t root = 0;
  size_t size = 0;  // bytes that the pickle takes

  const PickleNode& at(uint32_t index) const { return nodes[index]; }
};

// Reads the pickle at the start of `bytes` (protocols 2 to 5). `globals` are the names it may use, as "module name".
// A name outside of them is kUnsupported, everything else that is wrong kCorrupt; `name` starts every message.
Result<Pickle> read_pickle(std::span<const std::byte> bytes, std::span<const std::string_view> globals, std::string_view name);

}  // namespace inlay
