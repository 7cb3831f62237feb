#include "tokenizer/vocabulary.h"

#include <algorithm>

namespace inlay {

Result<Vocabulary> Vocabulary::build(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& left, const Entry& right) { return left.first < right.first; });
  std::vector<Entry> unique;
  unique.reserve(entries.size());
  uint64_t bytes = 0;
  for (const Entry& entry : entries) {
    if (entry.second < 0)
      return fail(ErrorCode::kCorrupt, "token '{}' has the id {}, wanted 0 or more", entry.first, entry.second);
    if (!unique.empty() && unique.back().first == entry.first) {
      unique.back() = entry;
    } else {
      unique.push_back(entry);
      bytes += entry.first.size();
    }
  }
  if (bytes > UINT32_MAX)
    return fail(ErrorCode::kTooLarge, "vocabulary has {} bytes of tokens, at most {} are read", bytes, UINT32_MAX);
  Vocabulary result;
  result.trie_ = TRY(DoubleArray::build(unique));
  result.text_.reserve(bytes);
  result.by_id_.reserve(unique.size());
  for (const auto& [token, id] : unique) {
    result.by_id_.push_back({id, static_cast<uint32_t>(result.text_.size()), static_cast<uint32_t>(token.size())});
    result.text_.insert(result.text_.end(), token.begin(), token.end());
  }
  std::stable_sort(result.by_id_.begin(), result.by_id_.end(),
                   [](const Token& left, const Token& right) { return left.id < right.id; });
  return result;
}

std::optional<int32_t> Vocabulary::id_of(std::string_view token) const {
  const int32_t id = trie_.find(token);
  return id == DoubleArray::kNoValue ? std::nullopt : std::optional<int32_t>(id);
}

std::optional<std::string_view> Vocabulary::token_of(int32_t id) const {
  const std::vector<Token>::const_iterator found =
      std::lower_bound(by_id_.begin(), by_id_.end(), id, [](const Token& token, int32_t wanted) { return token.id < wanted; });
  if (found == by_id_.end() || found->id != id) return std::nullopt;
  return std::string_view(text_.data() + found->begin, found->size);
}

}  // namespace inlay
