// Tokens found in the text before anything else happens to it: "[SEP]", "<mask>".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/double_array.h"

namespace inlay {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // only where no word character stands beside it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;
  bool normalized = false;  // is sought, normalized, in the normalized text
  bool special = false;
};

// Finds the tokens of one kind (normalized or not): leftmost, then longest, not overlapping. Immutable.
class AddedTokenMatcher {
 public:
  struct Match {
    int32_t id;
    size_t begin;  // of what the token takes, white space included
    size_t end;
  };
  // Where a search goes on. Begin with {}.
  struct Cursor {
    size_t search = 0;   // matches begin here or later
    size_t settled = 0;  // white space before this belongs to an earlier match
  };
  struct Pattern {
    std::string text;  // the content, or what the normalizer makes of it
    AddedToken token;
  };

  // Of patterns with one text the last counts.
  static Result<AddedTokenMatcher> build(std::vector<Pattern> patterns);

  bool is_empty() const { return patterns_.empty(); }
  const std::vector<Pattern>& patterns() const { return patterns_; }

  // The next match whose token begins before `limit` (the white space it takes may begin earlier); moves the cursor behind it.
  // `skip_special` passes over tokens marked special as if they were text. `text` may hold ill-formed UTF-8.
  std::optional<Match> find(std::string_view text, size_t limit, bool skip_special, Cursor& cursor) const;

 private:
  size_t find_first_byte(std::string_view text, size_t from, size_t limit) const;

  std::vector<Pattern> patterns_;
  DoubleArray trie_;                // text -> index into patterns_
  std::array<bool, 256> starts_{};  // first bytes of patterns
  std::optional<char> only_start_;  // the first byte, where all share it
};

}  // namespace inlay
