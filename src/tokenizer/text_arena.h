// Memory for text that the steps of a pipeline write while they work on one chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace inlay {

// What `allocate` gives stays valid until `clear`.
class TextArena {
 public:
  char* allocate(size_t size) {
    if (size > room_) add_block(size);
    char* const result = at_;
    at_ += size;
    room_ -= size;
    return result;
  }

  // Gives back the tail of the latest allocation.
  void shrink(const char* end) {
    room_ += static_cast<size_t>(at_ - end);
    at_ -= at_ - end;
  }

  // Keeps one block of ordinary size for the next chunk.
  void clear() {
    if (blocks_.empty()) return;
    blocks_.resize(1);
    at_ = blocks_[0].get();
    room_ = kBlock;
  }

 private:
  static constexpr size_t kBlock = 32 << 10;

  void add_block(size_t size) {
    // The first block is always of ordinary size, so that `clear` leaves nothing large behind.
    if (blocks_.empty()) {
      blocks_.push_back(std::make_unique<char[]>(kBlock));
      at_ = blocks_[0].get();
      room_ = kBlock;
      if (size <= kBlock) return;
    }
    room_ = std::max(size, kBlock);
    blocks_.push_back(std::make_unique<char[]>(room_));
    at_ = blocks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* at_ = nullptr;
  size_t room_ = 0;
};

}  // namespace inlay
