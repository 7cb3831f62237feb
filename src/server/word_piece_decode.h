// Ids back to text, for vocabularies of word pieces.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace inlay {

// As the WordPiece decoder of Hugging Face tokenizers: pieces joined by spaces, "##" pieces glued on, spaces before punctuation
// and English contractions removed. Ids without a token are left out. kUnsupported for another kind of tokenizer.
Result<std::string> decode_word_pieces(const Tokenizer& tokenizer, std::span<const int64_t> ids, bool skip_special_tokens);

}  // namespace inlay
