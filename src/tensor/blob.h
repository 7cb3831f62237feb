// Bytes that are only read any more: memory of our own, or a part of memory that somebody else keeps, such as a mapped file.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "tensor/blob_arena.h"
#include "tensor/buffer.h"

namespace inlay {

class Blob {
 public:
  Blob() = default;
  explicit Blob(Buffer own) : own_(std::move(own)), bytes_(own_.as<>(), own_.size()) {}
  // Somebody else's memory. `bytes` must outlive the blob.
  static Blob borrow(std::span<const std::byte> bytes) {
    Blob blob;
    blob.bytes_ = bytes;
    blob.is_borrowed_ = true;
    return blob;
  }
  // A copy in the arena, which must outlive the blob.
  static Blob place(BlobArena& arena, std::span<const std::byte> bytes) {
    Blob blob;
    blob.bytes_ = arena.add(bytes);
    return blob;
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool is_borrowed() const { return is_borrowed_; }
  template <class T = std::byte>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }

 private:
  Buffer own_;
  std::span<const std::byte> bytes_;
  bool is_borrowed_ = false;
};

}  // namespace inlay
