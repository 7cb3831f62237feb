// Reads a folder's tokenizer into its parts.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decoder.h"
#include "tokenizer/model.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/text_steps.h"
#include "tokenizer/word_piece.h"

namespace inlay {

struct TokenizerParts {
  std::unique_ptr<TokenizerModel> model;
  const WordPiece* word_piece = nullptr;  // `model`, if it is one
  Bpe* bpe = nullptr;                     // likewise
  TextSteps steps;
  std::vector<AddedToken> added_tokens;  // contents are unique, ids are set
  PostProcessor post_processor;
  TokenDecoder decoder;
  std::optional<int> model_max_length;
};

// tokenizer.json with the changes that transformers makes, or vocab.txt where there is no tokenizer.json.
Result<TokenizerParts> read_tokenizer_files(const std::filesystem::path& folder, bool lowercase_first);

}  // namespace inlay
