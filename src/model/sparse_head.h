// From hidden states to weights of words: SPLADE's masked language model head, and bge-m3's weight for each token.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "model/encoder.h"
#include "model/head_weights.h"
#include "model/model_spec.h"
#include "model/output.h"

namespace inlay {

// Memory of one batch at a time; belongs to a lane.
struct SparseMemory {
  // A part of the vocabulary, for all texts one after another.
  struct Part {
    std::vector<SparseWeight> weights;
    std::vector<size_t> ends;  // by text
  };
  Buffer rows, codes, scale, minimum;  // of the transformed states [tokens, width]
  std::vector<Buffer> logits;          // by rank
  std::vector<std::vector<float>> best;
  std::vector<Part> parts;
  std::vector<float> token_weights;  // [tokens]

  size_t bytes() const;
};

// Immutable after loading; forward() may run in any number of threads with memory of their own.
class SparseHead {
 public:
  // Weights of the masked language model are packed as `plan` says, since they are as many as those of some encoders.
  static Result<SparseHead> load(const ModelSpec& spec, const HeadWeights& weights, const LoadPlan& plan, Team& team);

  // Ids that never get a weight; from the tokens that the spec names.
  void leave_out(std::vector<int32_t> ids) { left_out_ = std::move(ids); }
  uint64_t weight_bytes() const;
  SparseMemory make_memory(int max_tokens, int ranks) const;

  // One thread's share, after the encoder's forward pass of the same batch; the caller synchronises the team afterwards.
  void forward(const Share& share, const PackedBatch& batch, Workspace& workspace, SparseMemory& memory) const;
  SparseVector collect(const PackedBatch& batch, int text, const SparseMemory& memory) const;

 private:
  Result<> load_masked(const ModelSpec& spec, const HeadWeights& weights, const LoadPlan& plan, Team& team);
  Result<> load_token_weights(const ModelSpec& spec, const HeadWeights& weights);
  Operand operand(SparseMemory& memory) const;
  void transform(const Share& share, int tokens, Workspace& workspace, SparseMemory& memory) const;
  void weigh_part(const Share& share, const PackedBatch& batch, size_t part, SparseMemory& memory) const;
  void take_row(std::span<const float> logits, std::span<float> best) const;
  void end_text(int first_id, std::span<float> best, SparseMemory::Part& part) const;
  void weigh_tokens(const Share& share, int tokens, Floats hidden, SparseMemory& memory) const;
  float finish(float value) const;

  ComputePlan plan_;
  SparseSpec spec_;
  int width_ = 0;  // of the transformed states
  Activation activation_ = Activation::kIdentity;
  PackedLinear transform_;  // [width, hidden]
  NormWeights norm_;
  std::vector<PackedLinear> vocabulary_;  // [part of the vocabulary, width] each
  std::vector<float> token_weight_;       // [hidden]
  float token_bias_ = 0;
  std::vector<int32_t> left_out_;
};

}  // namespace inlay
