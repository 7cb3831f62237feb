// What the tokenizer knows of single characters. The tables are made by tools/make_unicode_tables.py from what `tokenizers`
// does, because its classes mix several versions of Unicode; they are constants of the program, ready without any
// initialisation.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace inlay {

enum CharFlag : uint16_t {
  kOther = 1,           // removed by BERT's clean_text: NUL, U+FFFD, Cc, Cf and Co of Unicode 8
  kWhite = 2,           // White_Space
  kPunctuation = 4,     // BERT's punctuation: ASCII symbols and P* of Unicode 8
  kCjk = 8,             // spaced by BERT's handle_chinese_chars
  kBertMark = 16,       // dropped by BERT's strip_accents: Mn of Unicode 8
  kCombining = 32,      // dropped by the StripAccents normalizer
  kWord = 64,           // \w
  kNumeric = 128,       // Nd, Nl, No
  kHasNfd = 256,        // canonical_parts() is not empty
  kHasNfkd = 512,       // compatible_parts() is not empty
  kHasLower = 1024,     // lower_parts() is not empty
  kNfcUnstable = 2048,  // NFC changes the character even when it stands alone
};

struct CharClass {
  uint16_t flags;
  uint8_t rank;  // orders marks as the canonical combining class does; 0 for starters
};

// `code` is below 0x110000.
CharClass char_class(uint32_t code);

// Full decompositions and the lower case of one character; empty where the character stays as it is. Hangul syllables, which
// decompose by arithmetic, have no parts here.
std::span<const uint32_t> canonical_parts(uint32_t code);
std::span<const uint32_t> compatible_parts(uint32_t code);
std::span<const uint32_t> lower_parts(uint32_t code);

// The primary composite of two characters, 0 if there is none. Knows Hangul.
uint32_t compose(uint32_t first, uint32_t second);

// Writes the jamo of a Hangul syllable and returns their number, 2 or 3; 0 for any other character.
int decompose_hangul(uint32_t code, uint32_t jamo[3]);

// Lower case by character, without regard to context (a final sigma stays a plain one).
std::string to_lower(std::string text);

}  // namespace inlay
