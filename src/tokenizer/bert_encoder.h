// BertNormalizer, BertPreTokenizer and WordPiece in one pass over the bytes, without any text in between: what nearly every
// BERT-type model needs. tokenizer_test.cc holds it against the general encoder.
#pragma once

#include <array>

#include "tokenizer/bert_fold.h"
#include "tokenizer/chunk_encoder.h"
#include "tokenizer/word_piece.h"

namespace inlay {

class BertEncoder final : public ChunkEncoder {
 public:
  // `model` outlives this object.
  BertEncoder(const BertOptions& options, const WordPiece& model);

  size_t find_cut(std::string_view text, size_t from) const override;
  void encode(std::string_view chunk, EncodeState& state, IdSink& sink) const override;

 private:
  friend class BertScanner;

  // What a byte does, for ASCII; kMany for the others, which are only part of a character.
  struct AsciiFold {
    FoldAction action;
    char byte;
  };

  BertFold fold_;
  std::array<AsciiFold, 256> ascii_;
  const WordPiece& model_;
  bool cuts_ideographs_;
};

}  // namespace inlay
