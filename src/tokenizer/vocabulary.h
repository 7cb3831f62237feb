// The tokens of a model and their ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/double_array.h"

namespace inlay {

class Vocabulary {
 public:
  using Entry = std::pair<std::string_view, int32_t>;

  // Of equal tokens the last one counts. Ids are not negative; they need not be dense. Copies the tokens.
  static Result<Vocabulary> build(std::vector<Entry> entries);

  std::optional<int32_t> id_of(std::string_view token) const;
  // Valid while the vocabulary lives, also after it is moved.
  std::optional<std::string_view> token_of(int32_t id) const;
  // Calls visit(token, id) for every token.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Token& token : by_id_) visit(std::string_view(text_.data() + token.begin, token.size), token.id);
  }
  // Different tokens.
  size_t size() const { return by_id_.size(); }
  // One more than the largest id.
  int64_t id_limit() const { return by_id_.empty() ? 0 : int64_t{by_id_.back().id} + 1; }
  const DoubleArray& trie() const { return trie_; }

 private:
  struct Token {
    int32_t id;
    uint32_t begin;
    uint32_t size;
  };

  DoubleArray trie_;
  std::vector<char> text_;  // a vector, since a moved std::string may carry its characters inside
  std::vector<Token> by_id_;
};

}  // namespace inlay
