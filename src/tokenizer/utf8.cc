#include "tokenizer/utf8.h"

#include <algorithm>
#include <cstring>

namespace inlay {

Decoded decode_utf8_before(const char* begin, const char* end) {
  const char* lead = end - 1;
  const char* const earliest = end - begin > 4 ? end - 4 : begin;
  while (lead > earliest && (static_cast<uint8_t>(*lead) & 0xC0) == 0x80) --lead;
  const Decoded character = decode_utf8(lead, end);
  return character.valid && lead + character.size == end ? character : Decoded{};
}

size_t count_chars(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

bool is_ascii(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; end - at >= 8; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    if ((word & 0x8080808080808080U) != 0) return false;
  }
  return std::all_of(at, end, [](char byte) { return (byte & 0x80) == 0; });
}

bool is_valid_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    if (!character.valid) return false;
    at += character.size;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    append_utf8(result, character.code);
    at += character.size;
  }
  return result;
}

}  // namespace inlay
