#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

bool has_flag(const Decoded& character, CharFlag flag) { return (char_class(character.code).flags & flag) != 0; }

bool is_single_word(std::string_view text, size_t begin, size_t end) {
  const char* const data = text.data();
  if (begin > 0 && has_flag(decode_utf8_before(data, data + begin), kWord)) return false;
  return end == text.size() || !has_flag(decode_utf8(data + end, data + text.size()), kWord);
}

size_t skip_white_before(std::string_view text, size_t begin, size_t floor) {
  const char* const data = text.data();
  while (begin > floor) {
    const Decoded character = decode_utf8_before(data + floor, data + begin);
    if (!has_flag(character, kWhite)) break;
    begin -= character.size;
  }
  return begin;
}

size_t skip_white_after(std::string_view text, size_t end) {
  while (end < text.size()) {
    const Decoded character = decode_utf8(text.data() + end, text.data() + text.size());
    if (!has_flag(character, kWhite)) break;
    end += character.size;
  }
  return end;
}

}  // namespace

Result<AddedTokenMatcher> AddedTokenMatcher::build(std::vector<Pattern> patterns) {
  std::stable_sort(patterns.begin(), patterns.end(),
                   [](const Pattern& left, const Pattern& right) { return left.text < right.text; });
  std::vector<std::pair<std::string_view, int32_t>> entries;
  AddedTokenMatcher result;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const std::string& text = patterns[i].text;
    if (text.empty()) return fail(ErrorCode::kUnsupported, "added token '{}' normalizes to nothing", patterns[i].token.content);
    if (!entries.empty() && entries.back().first == text) entries.pop_back();
    entries.emplace_back(text, static_cast<int32_t>(i));
    result.starts_[static_cast<uint8_t>(text.front())] = true;
  }
  if (std::count(result.starts_.begin(), result.starts_.end(), true) == 1) result.only_start_ = patterns.front().text.front();
  result.trie_ = TRY(DoubleArray::build(entries));
  result.patterns_ = std::move(patterns);
  return result;
}

size_t AddedTokenMatcher::find_first_byte(std::string_view text, size_t from, size_t limit) const {
  if (only_start_) {
    const void* const found = from < limit ? std::memchr(text.data() + from, *only_start_, limit - from) : nullptr;
    return found == nullptr ? limit : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < limit && !starts_[static_cast<uint8_t>(text[from])]) ++from;
  return from;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::find(std::string_view text, size_t limit, bool skip_special,
                                                                Cursor& cursor) const {
  if (patterns_.empty()) return std::nullopt;
  size_t begin = find_first_byte(text, cursor.search, limit);
  for (; begin < limit; begin = find_first_byte(text, cursor.search, limit)) {
    cursor.search = begin + 1;
    int32_t longest = DoubleArray::kNoValue;
    size_t end = begin;
    DoubleArray::Node node = DoubleArray::kRoot;
    for (size_t at = begin; at < text.size() && trie_.step(node, text[at]); ++at) {
      if (trie_.value(node) == DoubleArray::kNoValue) continue;
      longest = trie_.value(node);
      end = at + 1;
    }
    if (longest == DoubleArray::kNoValue) continue;
    // A match that is turned down still uses up its text; a shorter token at the same place is not tried.
    cursor.search = end;
    const AddedToken& token = patterns_[static_cast<size_t>(longest)].token;
    if (skip_special && token.special) continue;
    if (token.single_word && !is_single_word(text, begin, end)) continue;
    if (token.lstrip) begin = skip_white_before(text, begin, std::min(begin, cursor.settled));
    if (token.rstrip) end = skip_white_after(text, end);
    cursor.settled = end;
    return Match{token.id, begin, end};
  }
  cursor.search = std::max(cursor.search, limit);
  return std::nullopt;
}

}  // namespace inlay
