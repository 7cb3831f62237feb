// Memory for tensors: 64-byte aligned (a cache line, a zmm register), zeroed, movable, freed by the destructor.
#pragma once

#include <cstddef>
#include <utility>

namespace inlay {

class Buffer {
 public:
  Buffer() = default;
  // Buffers of a huge page or more begin at one, and ask the kernel for such pages.
  static constexpr size_t kHugePage = size_t{2} << 20;
  explicit Buffer(size_t size);
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  size_t size() const { return size_; }  // bytes
  // Bytes of pages that are resident, at most size(): memory that was never touched takes no room.
  size_t touched_bytes() const;
  template <class T = std::byte>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T = std::byte>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

constexpr size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace inlay
