// GPT-2's alphabet: a visible character for each byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inlay {

// The code point that stands for `byte`: the byte itself where it is visible in Latin-1, U+0100 and up for the others.
uint32_t char_of_byte(uint8_t byte);
// The byte that a character stands for, nullopt for a character that is not of the alphabet.
std::optional<uint8_t> byte_of_char(uint32_t code);

// Every byte of `text` as its character.
std::string to_byte_chars(std::string_view text);
// The bytes that `text` stands for; nullopt if a character is not of the alphabet. `text` is well-formed UTF-8.
std::optional<std::string> from_byte_chars(std::string_view text);

}  // namespace inlay
