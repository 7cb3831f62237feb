#include "tokenizer/unicode.h"

#include <algorithm>
#include <iterator>

#include "tokenizer/utf8.h"

namespace inlay {
namespace {

#include "tokenizer/unicode_tables.inc"

constexpr uint32_t kPageSize = 128;

constexpr uint32_t kSyllables = 0xAC00;
constexpr uint32_t kLeading = 0x1100;
constexpr uint32_t kVowels = 0x1161;
constexpr uint32_t kTrailing = 0x11A7;  // one before the first trailing consonant: index 0 is "none"
constexpr uint32_t kLeadingCount = 19;
constexpr uint32_t kVowelCount = 21;
constexpr uint32_t kTrailingCount = 28;
constexpr uint32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

template <size_t kCount, size_t kPoolSize>
std::span<const uint32_t> find_parts(const uint32_t (&keys)[kCount], const uint16_t (&starts)[kCount + 1],
                                     const uint32_t (&pool)[kPoolSize], uint32_t code) {
  const uint32_t* const key = std::lower_bound(std::begin(keys), std::end(keys), code);
  if (key == std::end(keys) || *key != code) return {};
  const size_t index = static_cast<size_t>(key - keys);
  return {pool + starts[index], pool + starts[index + 1]};
}

uint32_t compose_hangul(uint32_t first, uint32_t second) {
  if (first - kLeading < kLeadingCount && second - kVowels < kVowelCount) {
    return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
  }
  const uint32_t syllable = first - kSyllables;
  const uint32_t trailing = second - kTrailing;
  if (syllable < kSyllableCount && syllable % kTrailingCount == 0 && trailing > 0 && trailing < kTrailingCount) {
    return first + trailing;
  }
  return 0;
}

}  // namespace

CharClass char_class(uint32_t code) {
  return kClasses[kClassData[kClassPages[code / kPageSize] * kPageSize + code % kPageSize]];
}

std::span<const uint32_t> canonical_parts(uint32_t code) { return find_parts(kNfdKeys, kNfdStarts, kNfdPool, code); }
std::span<const uint32_t> compatible_parts(uint32_t code) { return find_parts(kNfkdKeys, kNfkdStarts, kNfkdPool, code); }
std::span<const uint32_t> lower_parts(uint32_t code) { return find_parts(kLowerKeys, kLowerStarts, kLowerPool, code); }

uint32_t compose(uint32_t first, uint32_t second) {
  const uint32_t syllable = compose_hangul(first, second);
  if (syllable != 0) return syllable;
  const auto [low, high] = std::equal_range(std::begin(kFirst), std::end(kFirst), first);
  const uint32_t* const seconds_end = kSecond + (high - kFirst);
  const uint32_t* const found = std::lower_bound(kSecond + (low - kFirst), seconds_end, second);
  return found != seconds_end && *found == second ? kComposed[found - kSecond] : 0;
}

int decompose_hangul(uint32_t code, uint32_t jamo[3]) {
  const uint32_t syllable = code - kSyllables;
  if (syllable >= kSyllableCount) return 0;
  jamo[0] = kLeading + syllable / (kVowelCount * kTrailingCount);
  jamo[1] = kVowels + syllable % (kVowelCount * kTrailingCount) / kTrailingCount;
  jamo[2] = kTrailing + syllable % kTrailingCount;
  return jamo[2] == kTrailing ? 2 : 3;
}

std::string to_lower(std::string text) {
  std::string result;
  result.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    at += character.size;
    if (character.code < 0x80) {
      const bool is_upper = character.code >= 'A' && character.code <= 'Z';
      result += static_cast<char>(character.code + (is_upper ? 'a' - 'A' : 0));
    } else if ((char_class(character.code).flags & kHasLower) != 0) {
      for (const uint32_t part : lower_parts(character.code)) append_utf8(result, part);
    } else {
      append_utf8(result, character.code);
    }
  }
  return result;
}

}  // namespace inlay
