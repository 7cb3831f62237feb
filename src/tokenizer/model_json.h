// Reads the `model` of a tokenizer.json.
#pragma once

#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/bpe.h"
#include "tokenizer/model.h"
#include "tokenizer/word_piece.h"

namespace inlay {

struct ReadModel {
  std::unique_ptr<TokenizerModel> model;
  const WordPiece* word_piece = nullptr;  // `model`, if it is one
  Bpe* bpe = nullptr;                     // likewise
};

Result<ReadModel> read_model(const Json& json);

// The two tokens of a merge written as "a b"; nullopt for a line that says the version. kCorrupt for anything else.
Result<std::optional<Bpe::MergePair>> split_merge(std::string_view line);

// {"token": id, ...}: also what a vocab.json is.
Result<Vocabulary> read_vocabulary(const Json& json);

}  // namespace inlay
