// Memory for many blobs that live and die together, on huge pages as soon as there is much of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensor/buffer.h"

namespace inlay {

// A short query reads every weight once. A matrix alone rarely holds a whole huge page, and over pages of 4 KiB one thread of a
// Zen 4 reads 42 MB at half the rate that it has over huge pages (25 against 55 GB/s), so matrices lie side by side.
// Not thread-safe.
class BlobArena {
 public:
  // A copy, aligned to 64 bytes, that stays as long as the arena. Ends the program if there is no memory, as Buffer does.
  std::span<const std::byte> add(std::span<const std::byte> bytes);

 private:
  // The first chunk is small: a model that fits into it does not pay for a huge page.
  static constexpr size_t kFirstChunk = size_t{1} << 20;
  static constexpr size_t kChunk = size_t{64} << 20;

  std::vector<Buffer> chunks_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace inlay
