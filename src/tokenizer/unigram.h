// Unigram: of all ways to cut a piece into tokens, the one with the largest sum of scores.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/model.h"

namespace inlay {

struct UnigramOptions {
  int32_t unknown_id = 0;
  bool byte_fallback = false;  // unknown text becomes tokens like <0x0A> where all of its bytes have one
};

class Unigram final : public TokenizerModel {
 public:
  using Entry = std::pair<std::string_view, double>;

  // The id of a token is its place in `entries`; of equal tokens the last counts. kCorrupt if the unknown id is none of them or
  // a score is not finite.
  static Result<Unigram> build(const std::vector<Entry>& entries, const UnigramOptions& options);

  void tokenize(std::string_view piece, ModelScratch& scratch, IdSink& sink) const override;
  void locate(std::string_view piece, ModelScratch& scratch, std::vector<ModelToken>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  size_t token_count() const override { return scores_.size(); }
  std::string_view kind() const override { return "Unigram"; }

 private:
  template <class Tokens>
  friend class UnigramSearch;

  explicit Unigram(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_id_ = 0;
  bool byte_fallback_ = false;
  std::array<int32_t, 256> byte_ids_{};  // of "<0x00>" ...; kNoValue where there is none
};

}  // namespace inlay
