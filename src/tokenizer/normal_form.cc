#include "tokenizer/normal_form.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

struct Ranked {
  uint32_t code;
  uint8_t rank;
  int8_t change;  // as an Edit has it; no character has more than 18 parts, nor do more than a few join
};

void push(std::vector<Ranked>& out, std::span<const uint32_t> parts) {
  int8_t change = 0;
  for (const uint32_t code : parts) {
    out.push_back({code, char_class(code).rank, change});
    change = 1;
  }
}

void decompose(uint32_t code, bool compatible, std::vector<Ranked>& out) {
  uint32_t jamo[3];
  const int jamo_count = decompose_hangul(code, jamo);
  if (jamo_count > 0) return push(out, std::span(jamo).first(static_cast<size_t>(jamo_count)));
  const CharClass character = char_class(code);
  if (compatible && (character.flags & kHasNfkd) != 0) {
    push(out, compatible_parts(code));
  } else if ((character.flags & kHasNfd) != 0) {
    push(out, canonical_parts(code));
  } else {
    out.push_back({code, character.rank, 0});
  }
}

// Marks between two starters stand in the order of their combining classes; equal ones keep their order.
void sort_marks(std::vector<Ranked>& text) {
  const auto is_starter = [](const Ranked& item) { return item.rank == 0; };
  std::vector<Ranked>::iterator at = text.begin();
  while (at != text.end()) {
    const std::vector<Ranked>::iterator run = std::find_if_not(at, text.end(), is_starter);
    at = std::find_if(run, text.end(), is_starter);
    if (at - run > 1) {
      std::stable_sort(run, at, [](const Ranked& left, const Ranked& right) { return left.rank < right.rank; });
    }
  }
}

// A character joins the last starter unless a mark of the same or a higher class, or another starter, stands between them.
void compose_all(std::vector<Ranked>& text) {
  size_t kept = 0;
  size_t starter = SIZE_MAX;
  for (size_t i = 0; i < text.size(); ++i) {
    const Ranked item = text[i];
    if (starter != SIZE_MAX) {
      const bool is_blocked = kept > starter + 1 && text[kept - 1].rank >= item.rank;
      const uint32_t joined = is_blocked ? 0 : compose(text[starter].code, item.code);
      if (joined != 0) {
        text[starter].code = joined;
        text[starter].change = static_cast<int8_t>(text[starter].change + item.change - 1);
        continue;
      }
    }
    if (item.rank == 0) starter = kept;
    text[kept++] = item;
  }
  text.resize(kept);
}

std::vector<Ranked> normalized(std::string_view text, NormalForm form) {
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  std::vector<Ranked> characters;
  characters.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    decompose(character.code, compatible, characters);
    at += character.size;
  }
  sort_marks(characters);
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) compose_all(characters);
  return characters;
}

}  // namespace

std::string to_normal_form(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  for (const Ranked& item : normalized(text, form)) append_utf8(result, item.code);
  return result;
}

std::vector<Edit> normal_form_edits(std::string_view text, NormalForm form) {
  std::vector<Edit> edits;
  for (const Ranked& item : normalized(text, form)) edits.push_back({item.code, item.change});
  return edits;
}

}  // namespace inlay
