// UTF-8, read leniently: what is ill-formed counts as U+FFFD, one per maximal ill-formed part (the WHATWG rule, which is also
// Python's errors="replace").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inlay {

inline constexpr uint32_t kReplacement = 0xFFFD;

struct Decoded {
  uint32_t code = kReplacement;
  uint32_t size = 1;  // bytes read, at least 1
  bool valid = false;
};

namespace utf8_detail {

inline bool in_range(const char* at, const char* end, uint8_t low, uint8_t high) {
  return at < end && static_cast<uint8_t>(*at) >= low && static_cast<uint8_t>(*at) <= high;
}
inline uint32_t low_bits(char byte) { return static_cast<uint8_t>(byte) & 0x3FU; }

}  // namespace utf8_detail

// Decodes the character at `at`, which must lie before `end`.
inline Decoded decode_utf8(const char* at, const char* end) {
  using utf8_detail::in_range;
  using utf8_detail::low_bits;
  const uint8_t lead = static_cast<uint8_t>(*at);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  if (lead < 0xE0) {
    if (!in_range(at + 1, end, 0x80, 0xBF)) return {};
    return {(lead & 0x1FU) << 6 | low_bits(at[1]), 2, true};
  }
  if (lead < 0xF0) {
    // E0 and ED bound their second byte, so that no short form and no surrogate is well-formed.
    if (!in_range(at + 1, end, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF)) return {};
    if (!in_range(at + 2, end, 0x80, 0xBF)) return {kReplacement, 2, false};
    return {(lead & 0x0FU) << 12 | low_bits(at[1]) << 6 | low_bits(at[2]), 3, true};
  }
  if (!in_range(at + 1, end, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF)) return {};
  if (!in_range(at + 2, end, 0x80, 0xBF)) return {kReplacement, 2, false};
  if (!in_range(at + 3, end, 0x80, 0xBF)) return {kReplacement, 3, false};
  return {(lead & 0x07U) << 18 | low_bits(at[1]) << 12 | low_bits(at[2]) << 6 | low_bits(at[3]), 4, true};
}

// The code point that ends at `end`, which must lie after `begin`; U+FFFD if the bytes before `end` are ill-formed.
Decoded decode_utf8_before(const char* begin, const char* end);

// Bytes written, 1 to 4. `out` has room for 4.
inline size_t encode_utf8(uint32_t code, char* out) {
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xC0 | code >> 6);
    out[1] = static_cast<char>(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xE0 | code >> 12);
    out[1] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | code >> 18);
  out[1] = static_cast<char>(0x80 | (code >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (code >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (code & 0x3F));
  return 4;
}

inline void append_utf8(std::string& out, uint32_t code) {
  char bytes[4];
  out.append(bytes, encode_utf8(code, bytes));
}

// Code points of well-formed UTF-8.
size_t count_chars(std::string_view text);

bool is_ascii(std::string_view text);
bool is_valid_utf8(std::string_view text);
// `text` with every ill-formed part replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace inlay
