// What config.json says of encoders other than plain BERT, in terms of the blocks that they are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace inlay {

// Rotary positions: pair j of a head of d turns by position * frequency(j), which is theta^(-2j/d) but for the scalings.
struct RopeConfig {
  enum class Kind : uint8_t { kDefault, kLinear, kNtk, kDynamic, kLlama3, kYarn } kind = Kind::kDefault;
  double theta = 10000;
  double factor = 1;
  double original_positions = 0;           // kDynamic, kLlama3, kYarn: the length that the model was first trained for
  double low_factor = 1, high_factor = 4;  // kLlama3
  double beta_fast = 32, beta_slow = 1;    // kYarn
  bool truncate = true;                    // kYarn
  double attention_factor = 1;             // cosines and sines are multiplied by this
};

// What a query sees, as in AttentionArgs.
struct Sight {
  int left = kUnbounded;
  int right = kUnbounded;
};

struct TransformerConfig {
  int kv_heads = 0;
  int head_dim = 0;
  float scale = 0;  // of scores; 0: 1 / sqrt(head_dim)
  Sight sight;
  Sight local_sight;           // of layers that is_local names
  std::vector<bool> is_local;  // by layer; empty: none is
  std::optional<RopeConfig> rope;
  std::optional<RopeConfig> local_rope;  // of local layers; missing: as the others
  int rotary = 0;                        // how many leading numbers of a head turn; 0: all
  bool qkv_bias = false;
  bool output_bias = false;
  bool up_bias = false;
  bool down_bias = false;
  bool norm_bias = false;
  bool is_gated = true;
  bool activates_first = true;  // which half of a gated product is activated
  float embedding_scale = 1;
  // Buckets of distance with a bias each, as T5 and MPNet have; 0: none.
  int distance_buckets = 0;
  int farthest_bucket = 0;  // distances from here on share the last bucket
  bool has_slopes = false;  // ALiBi
  // Position ids begin after this id and skip it, as in RoBERTa; missing: they count from 0.
  std::optional<int> position_pad;
  // A mixture of experts in every layer l with l % expert_period == 1; 0 experts: none.
  int experts = 0;
  int experts_used = 0;
  int expert_period = 0;
  // DeBERTa: buckets of distance on each side, the distance from which the last one is used, and which products are taken.
  int span = 0;
  int farthest_span = 0;
  bool has_position_buckets = false;
  bool content_to_position = false;
  bool position_to_content = false;
  bool shares_position_keys = false;
  bool normalises_positions = false;
  bool has_position_table = false;  // positions are added to the embeddings too
  // Low-rank additions to the weights, by task: Jina v3.
  std::vector<std::string> tasks;
  int lora_rank = 0;
  float lora_scale = 0;
  int task = -1;  // index into tasks; -1: the plain weights
};

}  // namespace inlay
