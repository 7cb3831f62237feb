// From hidden states to the logits of a sequence classification model: cross-encoders, rerankers, classifiers.
#pragma once

#include <span>

#include "base/result.h"
#include "model/encoder.h"
#include "model/model_spec.h"
#include "model/row_steps.h"
#include "weights/weight_store.h"

namespace inlay {

// Immutable after loading; apply() may run in any number of threads with memory of their own.
class Classifier {
 public:
  // `spec` has a classifier. The head is looked up by the model's family, in the encoder's own weights.
  static Result<Classifier> load(const ModelSpec& spec, const WeightStore& store, const Kernels& kernels, Team& team);

  int labels() const { return steps_.columns(); }
  uint64_t weight_bytes() const { return steps_.weight_bytes(); }

  // Runs on the calling thread; afterwards logits(text, memory) are [labels()].
  void apply(const PackedBatch& batch, Floats hidden, RowMemory& memory) const;
  const float* logits(int text, const RowMemory& memory) const { return steps_.result(text, memory); }

 private:
  int hidden_size_ = 0;
  PoolingSpec pooling_;
  RowSteps steps_;
};

// Turns logits into scores.
void activate(ScoreActivation activation, std::span<float> logits);

}  // namespace inlay
