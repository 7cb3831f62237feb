// Texts to JSON lines of ids and tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace inlay {

// {"ids":[…],"tokens":[…]} and a line break. With `second`, the two are one input ("sentence pair"), and "type_ids" tells them
// apart. A token is null where the vocabulary has no spelling for an id.
Result<std::string> tokenize_line(const Tokenizer& tokenizer, std::string_view text, std::optional<std::string_view> second,
                                  const EncodeOptions& options);

}  // namespace inlay
