// WordLevel: a piece is a token or unknown.
#pragma once

#include "base/result.h"
#include "tokenizer/model.h"

namespace inlay {

class WordLevel final : public TokenizerModel {
 public:
  // kCorrupt if the vocabulary lacks the unknown token.
  static Result<WordLevel> build(Vocabulary vocabulary, std::string_view unknown_token) {
    const std::optional<int32_t> unknown = vocabulary.id_of(unknown_token);
    if (!unknown) return fail(ErrorCode::kCorrupt, "vocabulary lacks the unknown token '{}'", unknown_token);
    return WordLevel(std::move(vocabulary), *unknown);
  }

  void tokenize(std::string_view piece, ModelScratch&, IdSink& sink) const override {
    sink.push(vocabulary_.id_of(piece).value_or(unknown_id_));
  }
  void locate(std::string_view piece, ModelScratch&, std::vector<ModelToken>& tokens) const override {
    tokens.push_back({vocabulary_.id_of(piece).value_or(unknown_id_), 0, piece.size()});
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string_view kind() const override { return "WordLevel"; }

 private:
  WordLevel(Vocabulary vocabulary, int32_t unknown_id) : vocabulary_(std::move(vocabulary)), unknown_id_(unknown_id) {}

  Vocabulary vocabulary_;
  int32_t unknown_id_;
};

}  // namespace inlay
