// Reads the fields of a protocol buffer from a stranger's file, one after the other, without copying.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace inlay {

struct ProtoField {
  uint32_t number = 0;
  uint64_t value = 0;           // of a varint or of a number of fixed size
  std::string_view bytes = {};  // of a string, of bytes or of a message

  float as_float() const {
    const uint32_t bits = static_cast<uint32_t>(value);
    float result = 0;
    std::memcpy(&result, &bits, sizeof result);
    return result;
  }
  // Negative 32-bit numbers are written with 64 bits.
  int32_t as_int() const { return static_cast<int32_t>(static_cast<int64_t>(value)); }
};

// The text it reads outlives it.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : begin_(bytes.data()), rest_(bytes) {}

  // The next field, nullopt at the end. kCorrupt for what is no protocol buffer.
  Result<std::optional<ProtoField>> next() {
    if (rest_.empty()) return std::optional<ProtoField>();
    const uint64_t tag = TRY(varint());
    ProtoField field;
    field.number = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0: field.value = TRY(varint()); break;
      case 1: field.value = TRY(fixed(8)); break;
      case 2: {
        const uint64_t size = TRY(varint());
        if (size > rest_.size()) return truncated();
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        break;
      }
      case 5: field.value = TRY(fixed(4)); break;
      default: return fail(ErrorCode::kCorrupt, "byte {}: field {} has the unknown type {}", place(), field.number, tag & 7);
    }
    return std::optional<ProtoField>(field);
  }

 private:
  size_t place() const { return static_cast<size_t>(rest_.data() - begin_); }
  tl::unexpected<Error> truncated() const {
    return fail(ErrorCode::kCorrupt, "byte {}: a field goes on behind the end", place());
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return truncated();
      const uint8_t byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return fail(ErrorCode::kCorrupt, "byte {}: a number has more than 64 bits", place());
  }

  Result<uint64_t> fixed(size_t size) {
    if (rest_.size() < size) return truncated();
    uint64_t value = 0;
    std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return value;
  }

  const char* begin_;
  std::string_view rest_;
};

}  // namespace inlay
