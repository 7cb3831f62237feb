// Every pipeline: normalizers, added tokens of the normalized text, pre-tokenizers and the model, one after the other.
#pragma once

#include <memory>

#include "tokenizer/added_tokens.h"
#include "tokenizer/chunk_encoder.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"

namespace inlay {

class GeneralEncoder final : public ChunkEncoder {
 public:
  struct Steps {
    Normalizers normalizers;
    AddedTokenMatcher normalized_tokens;
    PreTokenizers pre_tokenizers;
  };

  // Both outlive this object.
  GeneralEncoder(const Steps& steps, const TokenizerModel& model);
  GeneralEncoder(Steps&&, const TokenizerModel&) = delete;

  size_t find_cut(std::string_view text, size_t from) const override;
  void encode(std::string_view chunk, EncodeState& state, IdSink& sink) const override;

 private:
  void encode_plain(std::string_view text, EncodeState& state, IdSink& sink) const;

  const Steps& steps_;
  const TokenizerModel& model_;
  bool can_cut_ = false;
};

// Most bytes that normalizers may make of so many.
size_t max_normalized_size(size_t size);

}  // namespace inlay
