// From hidden states to one vector a token, as late interaction (ColBERT) compares them.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/encoder.h"
#include "model/model_spec.h"
#include "model/output.h"
#include "model/row_steps.h"
#include "weights/weight_store.h"

namespace inlay {

// Immutable after loading; may be used by any number of threads with memory of their own.
class TokenHead {
 public:
  // Without a TokenSpec in `spec` vectors are the hidden states. `model` is the encoder's weights.
  static Result<TokenHead> load(const ModelSpec& spec, const WeightStore& model, const Kernels& kernels, Team& team);

  // Ids of the tokens that the spec skips.
  void skip(std::vector<int32_t> ids) { skipped_ = std::move(ids); }
  int columns() const { return steps_.columns(); }
  uint64_t weight_bytes() const { return steps_.weight_bytes(); }

  // Runs on the calling thread.
  struct Text {
    int index = 0;  // in the batch
    bool is_query = false;
  };
  TokenVectors apply(const PackedBatch& batch, Text text, Floats hidden, RowMemory& memory) const;

 private:
  int hidden_size_ = 0;
  RowSteps steps_;
  bool leaves_out_first_ = false;
  bool skips_in_queries_ = false, skips_in_documents_ = false;
  std::vector<int32_t> skipped_;
};

}  // namespace inlay
