#include "tokenizer/normalizer.h"

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// Calls visit(code, flags) for every character.
template <class Visit>
void for_each_char(std::string_view text, Visit visit) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const Decoded character = decode_utf8(at, end);
    at += character.size;
    visit(character.code, char_class(character.code).flags);
  }
}

std::string without(std::string_view text, uint16_t flag) {
  std::string result;
  result.reserve(text.size());
  for_each_char(text, [&](uint32_t code, uint16_t flags) {
    if ((flags & flag) == 0) append_utf8(result, code);
  });
  return result;
}

}  // namespace

void BertNormalizer::apply(std::string& text, StepState&) const {
  std::string cleaned;
  cleaned.reserve(text.size());
  for_each_char(text, [&](uint32_t code, uint16_t flags) {
    if (options_.clean_text && (flags & kOther) != 0) return;
    if (options_.clean_text && (flags & kWhite) != 0) code = ' ';
    const bool is_spaced = options_.handle_chinese_chars && (flags & kCjk) != 0;
    if (is_spaced) cleaned += ' ';
    append_utf8(cleaned, code);
    if (is_spaced) cleaned += ' ';
  });
  text = std::move(cleaned);
  if (options_.strip_accents && !is_ascii(text)) text = without(to_normal_form(text, NormalForm::kNfd), kBertMark);
  if (options_.lowercase) text = to_lower(std::move(text));
}

void LowercaseNormalizer::apply(std::string& text, StepState&) const { text = to_lower(std::move(text)); }

void StripAccentsNormalizer::apply(std::string& text, StepState&) const { text = without(text, kCombining); }

void StripNormalizer::apply(std::string& text, StepState&) const {
  const char* begin = text.data();
  const char* end = begin + text.size();
  while (left_ && begin < end) {
    const Decoded character = decode_utf8(begin, end);
    if ((char_class(character.code).flags & kWhite) == 0) break;
    begin += character.size;
  }
  while (right_ && begin < end) {
    const Decoded character = decode_utf8_before(begin, end);
    if ((char_class(character.code).flags & kWhite) == 0) break;
    end -= character.size;
  }
  text = std::string(begin, end);
}

void ReplaceNormalizer::apply(std::string& text, StepState& state) const {
  size_t found = text.find(pattern_);
  if (found == std::string::npos) return;
  std::string result;
  size_t done = 0;
  for (; found != std::string::npos; found = text.find(pattern_, done)) {
    if (!state.allows(result.size() + content_.size())) return;
    result.append(text, done, found - done).append(content_);
    done = found + pattern_.size();
  }
  text = result.append(text, done);
}

void RegexReplaceNormalizer::apply(std::string& text, StepState& state) const {
  std::string result;
  size_t done = 0;
  Regex::Cursor cursor;
  while (true) {
    const Result<std::optional<Regex::Match>> found = regex_.next(text, cursor, state.regex);
    if (!found) state.error = found.error();
    if (!found || !state.allows(result.size() + content_.size())) return;
    const std::optional<Regex::Match>& match = *found;
    if (!match) break;
    result.append(text, done, match->begin - done).append(content_);
    done = match->end;
  }
  if (done > 0 || !result.empty()) text = result.append(text, done);
}

void NmtNormalizer::apply(std::string& text, StepState&) const {
  std::string result;
  result.reserve(text.size());
  for_each_char(text, [&](uint32_t code, uint16_t) {
    const bool is_dropped = (code >= 0x1 && code <= 0x8) || code == 0xB || (code >= 0xE && code <= 0x1F) || code == 0x7F ||
                            code == 0x8F || code == 0x9F;
    const bool is_space = code == 0x9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
                          (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
                          code == 0xFEFF || code == 0xFFFD;
    if (!is_dropped) append_utf8(result, is_space ? ' ' : code);
  });
  text = std::move(result);
}

void ByteLevelNormalizer::apply(std::string& text, StepState&) const { text = to_byte_chars(text); }

}  // namespace inlay
