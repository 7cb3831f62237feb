#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace inlay {
namespace {

constexpr bool is_visible(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr uint32_t kFirstOther = 0x100;
constexpr uint32_t kOthers = 68;

struct Alphabet {
  std::array<uint16_t, 256> chars{};
  std::array<uint8_t, kOthers> others{};
};

constexpr Alphabet make_alphabet() {
  Alphabet result;
  uint32_t next = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    result.chars[byte] = static_cast<uint16_t>(is_visible(byte) ? byte : kFirstOther + next);
    if (!is_visible(byte)) result.others[next++] = static_cast<uint8_t>(byte);
  }
  return result;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

uint32_t char_of_byte(uint8_t byte) { return kAlphabet.chars[byte]; }

std::optional<uint8_t> byte_of_char(uint32_t code) {
  if (code < kFirstOther) return is_visible(code) ? std::optional<uint8_t>(static_cast<uint8_t>(code)) : std::nullopt;
  if (code - kFirstOther >= kOthers) return std::nullopt;
  return kAlphabet.others[code - kFirstOther];
}

std::string to_byte_chars(std::string_view text) {
  std::string result;
  result.reserve(text.size() * 2);
  for (const char byte : text) append_utf8(result, char_of_byte(static_cast<uint8_t>(byte)));
  return result;
}

std::optional<std::string> from_byte_chars(std::string_view text) {
  std::string result;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    const std::optional<uint8_t> byte = byte_of_char(character.code);
    if (!byte) return std::nullopt;
    result += static_cast<char>(*byte);
    at += character.size;
  }
  return result;
}

}  // namespace inlay
