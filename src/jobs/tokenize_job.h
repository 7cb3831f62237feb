// Texts to JSON lines of ids and tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace inlay {

// A line of tokens for each text, or for each two.
struct TokenLines {
  const Tokenizer& tokenizer;
  EncodeOptions options;
  bool with_offsets = false;
};

// {"ids":[…],"tokens":[…]} and a line break. With `second`, the two are one input ("sentence pair"), and "type_ids" tells them
// apart. A token is null where the vocabulary has no spelling for an id. "offsets", if asked for, are [begin,end] in characters
// of the token's text, null for the tokens of the template and where they are not known.
Result<std::string> tokenize_line(const TokenLines& lines, std::string_view text, std::optional<std::string_view> second);

// {"text":"…"} and a line break: what the ids stand for, special tokens included.
Result<std::string> decode_line(const Tokenizer& tokenizer, std::span<const int32_t> ids);

}  // namespace inlay
