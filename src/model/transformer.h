// The encoder that most architectures are settings of: layers of attention and feed-forward around a stream of hidden states,
// with norms before, inside or after the blocks. An architecture's file loads the parts; this runs them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/disentangled.h"
#include "model/distance_bias.h"
#include "model/encoder.h"
#include "model/experts.h"
#include "model/rope.h"

namespace inlay {

// Norms that do not exist are left out.
struct TransformerLayer {
  NormWeights attention_input;  // before the block, in pre-norm encoders
  PackedLinear qkv;
  NormWeights query_norm, key_norm;            // of each head
  std::unique_ptr<Disentangled> disentangled;  // null: plain attention
  PackedLinear output;
  NormWeights attention_result;  // of what the block adds
  NormWeights attention_sum;     // after the sum, in post-norm encoders
  NormWeights feed_input;
  PackedLinear up;
  PackedLinear down;
  std::unique_ptr<Experts> experts;  // in place of up and down
  NormWeights feed_result;
  NormWeights feed_sum;
  bool is_local = false;
};

struct TransformerParts {
  EmbeddingTable words;
  std::optional<EmbeddingTable> positions;
  std::optional<EmbeddingTable> types;
  NormWeights embedding_norm;
  std::vector<TransformerLayer> layers;
  NormWeights final_norm;
  DistanceBias bias;
};

// `config.transformer` says how the parts are used; all sizes fit each other.
std::unique_ptr<Encoder> make_transformer(const EncoderConfig& config, const ComputePlan& plan, TransformerParts parts);

}  // namespace inlay
