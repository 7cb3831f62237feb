// A fast checksum against damage by accident. It is no defence against somebody who wants two inputs with the same sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace inlay {

// Each addition counts as if it were followed by zeros up to a multiple of kBlock. Any change within one word of eight bytes
// changes the sum; a larger one goes unseen once in 2^64.
class Checksum {
 public:
  static constexpr size_t kBlock = 64;  // bytes

  Checksum();
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  void add_block(const std::byte* block);

  std::array<uint64_t, kBlock / sizeof(uint64_t)> lanes_;
};

}  // namespace inlay
