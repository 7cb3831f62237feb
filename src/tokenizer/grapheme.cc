#include "tokenizer/grapheme.h"

#include "tokenizer/utf8.h"

namespace inlay {
namespace {

#include "tokenizer/grapheme_tables.inc"

constexpr uint32_t kPageSize = 128;

// What the cluster so far says about what may follow.
struct Context {
  bool is_pictograph = false;  // a pictograph and its marks
  bool is_joined = false;      // ... and a ZWJ
  bool is_consonant = false;   // an Indic consonant and its marks
  bool is_linked = false;      // ... with a linker among them
  bool is_half_a_flag = false;
};

bool extends(GraphemeClass value) {
  return value == GraphemeClass::kExtend || value == GraphemeClass::kZwj || value == GraphemeClass::kLinker;
}

Context advance(Context context, GraphemeClass added) {
  if (extends(added)) {
    return {.is_pictograph = context.is_pictograph && added != GraphemeClass::kZwj,
            .is_joined = context.is_pictograph && added == GraphemeClass::kZwj,
            .is_consonant = context.is_consonant,
            .is_linked = context.is_consonant && (context.is_linked || added == GraphemeClass::kLinker)};
  }
  return {.is_pictograph = added == GraphemeClass::kPictograph,
          .is_consonant = added == GraphemeClass::kConsonant,
          .is_half_a_flag = added == GraphemeClass::kRegional && !context.is_half_a_flag};
}

bool hangul_joins(GraphemeClass left, GraphemeClass right) {
  using enum GraphemeClass;
  if (left == kLeading) return right == kLeading || right == kVowel || right == kSyllable || right == kTrailingSyllable;
  if (left == kSyllable || left == kVowel) return right == kVowel || right == kTrailing;
  return (left == kTrailingSyllable || left == kTrailing) && right == kTrailing;
}

bool joins(GraphemeClass left, GraphemeClass right, Context context) {
  using enum GraphemeClass;
  if (left == kControl || right == kControl) return false;
  if (extends(right) || right == kSpacingMark || left == kPrepend) return true;
  if (right == kPictograph) return context.is_joined;
  if (right == kConsonant) return context.is_linked;
  if (right == kRegional) return context.is_half_a_flag;
  return hangul_joins(left, right);
}

}  // namespace

GraphemeClass grapheme_class(uint32_t code) {
  return static_cast<GraphemeClass>(kGraphemeData[kGraphemePages[code / kPageSize] * kPageSize + code % kPageSize]);
}

size_t grapheme_size(std::string_view text, size_t at) {
  const char* const begin = text.data() + at;
  const char* const end = text.data() + text.size();
  if (text.substr(at, 2) == "\r\n") return 2;
  Decoded character = decode_utf8(begin, end);
  const char* next = begin + character.size;
  GraphemeClass last = grapheme_class(character.code);
  Context context = advance({}, last);
  while (next < end) {
    character = decode_utf8(next, end);
    const GraphemeClass added = grapheme_class(character.code);
    if (!joins(last, added, context)) break;
    context = advance(context, added);
    last = added;
    next += character.size;
  }
  return static_cast<size_t>(next - begin);
}

}  // namespace inlay
