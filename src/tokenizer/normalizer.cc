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

void CharNormalizer::align(AlignedText& text, StepState& state) const {
  text.map_chars([&](std::string_view character) {
    std::string changed(character);
    apply(changed, state);
    return changed;
  });
}

std::string BertNormalizer::clean(std::string_view text) const {
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
  return cleaned;
}

void BertNormalizer::apply(std::string& text, StepState&) const {
  text = clean(text);
  if (options_.strip_accents && !is_ascii(text)) text = without(to_normal_form(text, NormalForm::kNfd), kBertMark);
  if (options_.lowercase) text = to_lower(std::move(text));
}

void BertNormalizer::align(AlignedText& text, StepState&) const {
  text.map_chars([&](std::string_view character) { return clean(character); });
  if (options_.strip_accents) {
    text.transform(normal_form_edits(text.text(), NormalForm::kNfd));
    text.map_chars([](std::string_view character) { return without(character, kBertMark); });
  }
  if (options_.lowercase) text.map_chars([](std::string_view character) { return to_lower(std::string(character)); });
}

void LowercaseNormalizer::apply(std::string& text, StepState&) const { text = to_lower(std::move(text)); }

void StripAccentsNormalizer::apply(std::string& text, StepState&) const { text = without(text, kCombining); }

std::string_view StripNormalizer::strip(std::string_view text) const {
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
  return {begin, static_cast<size_t>(end - begin)};
}

void StripNormalizer::apply(std::string& text, StepState&) const { text = std::string(strip(text)); }

void StripNormalizer::align(AlignedText& text, StepState&) const {
  const std::string_view kept = strip(text.text());
  if (kept.size() == text.text().size()) return;
  const size_t begin = static_cast<size_t>(kept.data() - text.text().data());
  text.keep(begin, begin + kept.size());
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

void ReplaceNormalizer::align(AlignedText& text, StepState& state) const {
  std::vector<std::pair<size_t, size_t>> matches;
  for (size_t found = text.text().find(pattern_); found != std::string::npos;) {
    matches.emplace_back(found, found + pattern_.size());
    found = text.text().find(pattern_, found + pattern_.size());
  }
  if (state.allows(text.text().size() + matches.size() * content_.size())) text.replace(matches, content_);
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

void RegexReplaceNormalizer::align(AlignedText& text, StepState& state) const {
  std::vector<std::pair<size_t, size_t>> matches;
  Regex::Cursor cursor;
  while (true) {
    const Result<std::optional<Regex::Match>> found = regex_.next(text.text(), cursor, state.regex);
    if (!found) state.error = found.error();
    if (!found) return;
    if (!*found) break;
    matches.emplace_back((*found)->begin, (*found)->end);
  }
  if (state.allows(text.text().size() + matches.size() * content_.size())) text.replace(matches, content_);
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
