// Fields of config.json that several architectures have. What would silently change the vectors is refused by name.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "model/model_spec.h"

namespace inlay {

// Beyond any encoder that exists, and small enough that sizes multiplied with each other stay far from overflow.
constexpr int64_t kMaxHidden = 65536;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxTokenTypes = 1024;

// How an architecture spells its sizes, and what holds where a config is silent.
struct SizeKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view intermediate = "intermediate_size";
  std::string_view positions = "max_position_embeddings";
  int default_positions = 512;
  int default_types = 0;
};

// vocab_size, hidden_size, layers, heads, intermediate_size and max_positions, all within bounds; hidden_size need not be a
// multiple of heads.
Result<> read_shape(const Json& config, const SizeKeys& keys, EncoderConfig& encoder);
// The same, and token_types and pad_token_id.
Result<> read_sizes(const Json& config, const SizeKeys& keys, EncoderConfig& encoder);
// num_key_value_heads and head_dim, with heads and hidden_size / heads where they are missing.
Result<> read_head_sizes(const Json& config, EncoderConfig& encoder);
Result<float> read_epsilon(const Json& config, std::string_view key, double fallback);
Result<Activation> read_activation(const Json& config, std::string_view key, std::string_view fallback);
// kUnsupported with the key and `why` if the flag is true.
Result<> refuse_flag(const Json& config, std::string_view key, std::string_view why);
// kUnsupported unless the number, string or flag is `wanted` or missing.
Result<> want_text(const Json& config, std::string_view key, std::string_view wanted);
Result<> want_flag(const Json& config, std::string_view key, bool wanted, bool fallback);

// Rotary positions from rope_theta and rope_scaling, or from rope_parameters of transformers 5, there perhaps for each type of
// layer: `layer_type` picks one ("full_attention"). `theta` holds where none is given; `theta_key` is the older spelling.
struct RopeKeys {
  double theta = 10000;
  std::string_view theta_key = "rope_theta";
  std::string_view layer_type = "full_attention";
  int max_positions = 0;
};
Result<RopeConfig> read_rope(const Json& config, const RopeKeys& keys);
// A table's size is bounded with the positions, so a head must be too.
Result<> check_rotary(const Json& config, const EncoderConfig& encoder);

// Whether the member is there and null, which may mean something else than a missing one.
Result<bool> is_null(const Json& config, std::string_view key);

// layer_types of transformers 5: which layers are "sliding_attention"; empty if there is no such field.
Result<std::vector<bool>> read_layer_types(const Json& config, int layers);

}  // namespace inlay
