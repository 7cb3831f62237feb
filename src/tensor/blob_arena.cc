#include "tensor/blob_arena.h"

#include <algorithm>
#include <cstring>

namespace inlay {

std::span<const std::byte> BlobArena::add(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const size_t size = round_up(bytes.size(), 64);
  if (size > left_) {
    const bool is_first = chunks_.empty() && size <= kFirstChunk;
    chunks_.emplace_back(is_first ? kFirstChunk : round_up(std::max(size, kChunk), Buffer::kHugePage));
    next_ = chunks_.back().as<>();
    left_ = chunks_.back().size();
  }
  std::byte* place = next_;
  std::memcpy(place, bytes.data(), bytes.size());
  next_ += size;
  left_ -= size;
  return {place, bytes.size()};
}

}  // namespace inlay
