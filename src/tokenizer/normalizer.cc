#include "tokenizer/normalizer.h"

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

void BertNormalizer::apply(std::string& text) const {
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

void LowercaseNormalizer::apply(std::string& text) const { text = to_lower(std::move(text)); }

void StripAccentsNormalizer::apply(std::string& text) const { text = without(text, kCombining); }

void StripNormalizer::apply(std::string& text) const {
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

void ReplaceNormalizer::apply(std::string& text) const {
  size_t found = text.find(pattern_);
  if (found == std::string::npos) return;
  std::string result;
  size_t done = 0;
  for (; found != std::string::npos; found = text.find(pattern_, done)) {
    result.append(text, done, found - done).append(content_);
    done = found + pattern_.size();
  }
  text = result.append(text, done);
}

}  // namespace inlay
