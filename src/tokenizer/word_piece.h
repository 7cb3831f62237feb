// WordPiece: the longest known piece from the left, again and again; a word with an unknown rest is one unknown token.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "tokenizer/model.h"

namespace inlay {

struct WordPieceOptions {
  std::string unknown_token = "[UNK]";
  std::string continuing_prefix = "##";
  size_t max_chars = 100;  // a longer word is one unknown token; counts code points
};

class WordPiece final : public TokenizerModel {
 public:
  // kCorrupt if the vocabulary lacks the unknown token.
  static Result<WordPiece> build(Vocabulary vocabulary, const WordPieceOptions& options);

  void tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const override;
  void locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string_view kind() const override { return "WordPiece"; }

  size_t max_chars() const { return max_chars_; }
  int32_t unknown_id() const { return unknown_id_; }

 private:
  explicit WordPiece(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  struct Match {
    int32_t id;
    size_t size;  // bytes
  };
  Match longest(DoubleArray::Node node, std::string_view text) const;

  Vocabulary vocabulary_;
  DoubleArray::Node continuation_ = DoubleArray::kRoot;
  bool can_continue_ = true;
  int32_t unknown_id_ = 0;
  size_t max_chars_ = 0;
};

}  // namespace inlay
