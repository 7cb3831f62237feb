// Walks over the bytes of a file that a stranger wrote: every read says whether it stayed inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace inlay {

// Little-endian. After a read that doesn't fit, nothing was consumed.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, size_t position = 0) : bytes_(bytes), position_(position) {}

  size_t position() const { return position_; }
  size_t left() const { return position_ <= bytes_.size() ? bytes_.size() - position_ : 0; }

  template <class T>
  std::optional<T> take() {
    if (left() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  std::optional<std::string_view> take_text(uint64_t size) {
    if (size > left()) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
    position_ += size;
    return text;
  }
  // Up to the next line feed, which is consumed and left out.
  std::optional<std::string_view> take_line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + (bytes_.size() - left()), left());
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    position_ += end + 1;
    return rest.substr(0, end);
  }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace inlay
