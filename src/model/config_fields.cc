#include "model/config_fields.h"

#include <algorithm>
#include <cmath>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr int64_t kMaxHeadDim = 1024;
constexpr int64_t kMaxIntermediate = 1 << 20;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxPositions = 1 << 20;
constexpr double kMaxEpsilon = 0.1;
constexpr double kMaxTheta = 1e12;
constexpr double kMaxFactor = 1e6;

// A number in (0, most]; missing gives the fallback.
Result<double> positive_number(const Json& object, std::string_view key, double fallback, double most) {
  const double value = TRY(object.double_or(key, fallback));
  if (value > 0 && value <= most) return value;
  return fail(ErrorCode::kCorrupt, "{}: {}: found {}, wanted more than 0 and at most {}", object.where(), key, value, most);
}

struct NamedKind {
  std::string_view name;
  RopeConfig::Kind kind;
};
constexpr NamedKind kKinds[] = {
    {"default", RopeConfig::Kind::kDefault}, {"linear", RopeConfig::Kind::kLinear}, {"ntk", RopeConfig::Kind::kNtk},
    {"dynamic", RopeConfig::Kind::kDynamic}, {"llama3", RopeConfig::Kind::kLlama3}, {"yarn", RopeConfig::Kind::kYarn},
};

Result<RopeConfig::Kind> read_kind(const Json& scaling) {
  std::string name = TRY(scaling.string_or("rope_type", ""));
  if (name.empty()) name = TRY(scaling.string_or("type", "default"));
  for (const NamedKind& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  return fail(ErrorCode::kUnsupported, "{}: rope_type: found '{}', supported: default, linear, ntk, dynamic, llama3, yarn",
              scaling.where(), name);
}

// The default is the logarithm that the paper gives, or a quotient of two where both are there.
Result<double> yarn_attention_factor(const Json& scaling, double factor) {
  if (scaling.find("attention_factor")) return positive_number(scaling, "attention_factor", 1, kMaxFactor);
  const auto of = [factor](double scale) { return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0; };
  const double all = TRY(scaling.double_or("mscale_all_dim", 0));
  const double one = TRY(scaling.double_or("mscale", 0));
  return all != 0 && one != 0 ? of(one) / of(all) : of(1);
}

Result<> read_scaling(const Json& scaling, int max_positions, RopeConfig& rope) {
  using Kind = RopeConfig::Kind;
  rope.kind = TRY(read_kind(scaling));
  if (rope.kind == Kind::kDefault) return {};
  if (scaling.find("mixed_b")) {
    return fail(ErrorCode::kUnsupported, "{}: mixed_b: only plain ntk scaling is supported", scaling.where());
  }
  rope.original_positions =
      TRY(positive_number(scaling, "original_max_position_embeddings", std::max(1, max_positions), 1 << 24));
  const double implied = rope.kind == Kind::kYarn ? max_positions / rope.original_positions : 0;
  rope.factor = TRY(positive_number(scaling, "factor", implied, kMaxFactor));
  if (rope.kind == Kind::kLlama3) {
    rope.low_factor = TRY(positive_number(scaling, "low_freq_factor", 0, kMaxFactor));
    rope.high_factor = TRY(positive_number(scaling, "high_freq_factor", 0, kMaxFactor));
  }
  if (rope.kind == Kind::kYarn) {
    rope.beta_fast = TRY(positive_number(scaling, "beta_fast", 32, kMaxFactor));
    rope.beta_slow = TRY(positive_number(scaling, "beta_slow", 1, kMaxFactor));
    rope.truncate = TRY(scaling.bool_or("truncate", true));
    rope.attention_factor = TRY(yarn_attention_factor(scaling, rope.factor));
  }
  return {};
}

}  // namespace

Result<> read_shape(const Json& config, const SizeKeys& keys, EncoderConfig& encoder) {
  encoder.vocab_size = TRY(int_member(config, "vocab_size", {1, kMaxVocab}, std::nullopt));
  encoder.hidden_size = TRY(int_member(config, keys.hidden, {1, kMaxHidden}, std::nullopt));
  encoder.layers = TRY(int_member(config, keys.layers, {1, kMaxLayers}, std::nullopt));
  encoder.heads = TRY(int_member(config, keys.heads, {1, kMaxHidden}, std::nullopt));
  encoder.intermediate_size = TRY(int_member(config, keys.intermediate, {1, kMaxIntermediate}, std::nullopt));
  encoder.max_positions = TRY(int_member(config, keys.positions, {1, kMaxPositions}, keys.default_positions));
  return {};
}

Result<> read_sizes(const Json& config, const SizeKeys& keys, EncoderConfig& encoder) {
  TRY_VOID(read_shape(config, keys, encoder));
  encoder.token_types = TRY(int_member(config, "type_vocab_size", {0, kMaxTokenTypes}, keys.default_types));
  encoder.pad_token_id = TRY(int_member(config, "pad_token_id", {-1, kMaxVocab}, 0));
  return {};
}

Result<> read_head_sizes(const Json& config, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  t.kv_heads = TRY(int_member(config, "num_key_value_heads", {1, encoder.heads}, encoder.heads));
  t.head_dim = TRY(int_member(config, "head_dim", {1, kMaxHeadDim}, encoder.hidden_size / encoder.heads));
  if (t.head_dim < 1 || (!config.find("head_dim") && encoder.hidden_size % encoder.heads != 0)) {
    return fail(ErrorCode::kCorrupt, "{}: the hidden size {} is no multiple of the number of heads, {}", config.where(),
                encoder.hidden_size, encoder.heads);
  }
  if (encoder.heads % t.kv_heads != 0) {
    return fail(ErrorCode::kCorrupt, "{}: num_attention_heads {} is no multiple of num_key_value_heads {}", config.where(),
                encoder.heads, t.kv_heads);
  }
  if (int64_t{encoder.heads} * t.head_dim > kMaxHidden) {
    return fail(ErrorCode::kTooLarge, "{}: {} heads of {} numbers, at most {} numbers are supported", config.where(),
                encoder.heads, t.head_dim, kMaxHidden);
  }
  return {};
}

Result<float> read_epsilon(const Json& config, std::string_view key, double fallback) {
  return static_cast<float>(TRY(positive_number(config, key, fallback, kMaxEpsilon)));
}

Result<Activation> read_activation(const Json& config, std::string_view key, std::string_view fallback) {
  const std::string name = TRY(config.string_or(key, fallback));
  const std::optional<Activation> activation = activation_from_config(name);
  if (activation) return *activation;
  return fail(ErrorCode::kUnsupported,
              "{}: {}: found '{}', supported: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, relu, silu, tanh, "
              "sigmoid, linear",
              config.where(), key, name);
}

Result<> refuse_flag(const Json& config, std::string_view key, std::string_view why) {
  if (!TRY(config.bool_or(key, false))) return {};
  return fail(ErrorCode::kUnsupported, "{}: {}: true: {}", config.where(), key, why);
}

Result<> want_text(const Json& config, std::string_view key, std::string_view wanted) {
  const std::string found = TRY(config.string_or(key, wanted));
  if (found == wanted) return {};
  return fail(ErrorCode::kUnsupported, "{}: {}: found '{}', supported: {}", config.where(), key, found, wanted);
}

Result<> want_flag(const Json& config, std::string_view key, bool wanted, bool fallback) {
  if (TRY(config.bool_or(key, fallback)) == wanted) return {};
  return fail(ErrorCode::kUnsupported, "{}: {}: found {}, supported: {}", config.where(), key, !wanted, wanted);
}

Result<RopeConfig> read_rope(const Json& config, const RopeKeys& keys) {
  RopeConfig rope;
  rope.theta = TRY(positive_number(config, keys.theta_key, keys.theta, kMaxTheta));
  std::optional<Json> parameters = config.find("rope_parameters");
  if (parameters && parameters->is_object()) {
    if (const std::optional<Json> of_layer = parameters->find(keys.layer_type)) parameters = of_layer;
    rope.theta = TRY(positive_number(*parameters, "rope_theta", rope.theta, kMaxTheta));
    TRY_VOID(read_scaling(*parameters, keys.max_positions, rope));
  }
  if (const std::optional<Json> scaling = config.find("rope_scaling")) {
    TRY_VOID(read_scaling(*scaling, keys.max_positions, rope));
  }
  return rope;
}

Result<> check_rotary(const Json& config, const EncoderConfig& encoder) {
  const int rotary = encoder.transformer.rotary == 0 ? encoder.transformer.head_dim : encoder.transformer.rotary;
  const double part = TRY(config.double_or("partial_rotary_factor", 1));
  if (part != 1) {
    return fail(ErrorCode::kUnsupported, "{}: partial_rotary_factor: found {}, supported: 1", config.where(), part);
  }
  if (rotary % 2 == 0 && rotary <= encoder.transformer.head_dim) return {};
  return fail(ErrorCode::kCorrupt, "{}: rotary positions turn pairs, but a head has {} numbers of which {} turn",
              config.where(), encoder.transformer.head_dim, rotary);
}

Result<bool> is_null(const Json& config, std::string_view key) {
  for (const auto& [name, value] : TRY(config.members())) {
    if (name == key) return value.is_null();
  }
  return false;
}

Result<std::vector<bool>> read_layer_types(const Json& config, int layers) {
  std::vector<bool> is_local;
  const std::optional<Json> types = config.find("layer_types");
  if (!types) return is_local;
  for (const Json& type : TRY(types->items())) {
    const std::string_view name = TRY(type.as_string());
    if (name != "full_attention" && name != "sliding_attention") {
      return fail(ErrorCode::kUnsupported, "{}: found '{}', supported: full_attention, sliding_attention", type.where(), name);
    }
    is_local.push_back(name == "sliding_attention");
  }
  if (static_cast<int>(is_local.size()) != layers) {
    return fail(ErrorCode::kCorrupt, "{}: {} entries for {} layers", types->where(), is_local.size(), layers);
  }
  return is_local;
}

}  // namespace inlay
