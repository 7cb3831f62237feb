// x = word[id]; for each layer: x += Wo attention(rope(norm(Wq n)), rope(norm(Wk n)), Wv n), n = RMS(x);
// x += W2 (act(Wgate m) * Wup m), m = RMS(x); RMS at the end. Gemma scales the embeddings and normalises what blocks add too.
// Source: transformers' Qwen3Model, Qwen2Model, LlamaModel, MistralModel, EuroBertModel and Gemma3TextModel.
#include "model/decoder.h"

#include <algorithm>
#include <cmath>

#include "model/config_fields.h"
#include "model/model_spec_parts.h"
#include "model/transformer.h"
#include "model/weight_packer.h"

namespace inlay {
namespace {

constexpr int kMaxWindow = 1 << 24;
constexpr int kDefaultPositions = 32768;
constexpr double kMostPositions = 1 << 20;
constexpr int kQwen3HeadDim = 128;
constexpr int kDefaultWindow = 4096;

// Checkpoints store Gemma's norms less one; GGUF files, whose architecture this name is, store them whole.
bool has_whole_norms(const EncoderConfig& config) { return config.model_type == "gemma-embedding"; }
bool is_gemma(const EncoderConfig& config) { return config.model_type == "gemma3_text" || has_whole_norms(config); }

// Causal unless the config says otherwise.
Result<bool> read_causal(const Json& config, const EncoderConfig& encoder) {
  if (encoder.model_type == "eurobert") return false;
  if (TRY(config.bool_or("use_bidirectional_attention", false))) return false;
  return config.bool_or("is_causal", true);
}

// The window of layers that have one: the newest `window` tokens in causal order, else as many on both sides.
Sight window_sight(int window, bool is_causal) { return is_causal ? Sight{window - 1, 0} : Sight{window - 1, window - 1}; }

// Which layers have a window, and how wide it is.
Result<> read_windows(const Json& config, bool is_causal, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  const bool is_mistral = encoder.model_type == "mistral";
  const bool is_qwen = encoder.model_type.starts_with("qwen");
  if (is_qwen && !TRY(config.bool_or("use_sliding_window", false))) return {};
  if ((!is_qwen && !is_mistral) || TRY(is_null(config, "sliding_window"))) return {};
  const int window = TRY(int_member(config, "sliding_window", {1, kMaxWindow}, kDefaultWindow));
  t.local_sight = window_sight(window, is_causal);
  if (is_qwen) t.is_local = TRY(read_layer_types(config, encoder.layers));
  const int first = is_mistral ? 0 : TRY(int_member(config, "max_window_layers", {0, kMaxWindow}, 28));
  for (int layer = static_cast<int>(t.is_local.size()); layer < encoder.layers; ++layer) t.is_local.push_back(layer >= first);
  return {};
}

Result<> read_biases(const Json& config, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  const bool has_flag = encoder.model_type != "qwen2" && encoder.model_type != "mistral";
  const bool attention = has_flag && TRY(config.bool_or("attention_bias", false));
  t.qkv_bias = encoder.model_type == "qwen2" || attention;
  t.output_bias = attention;
  t.up_bias = t.down_bias = has_flag && TRY(config.bool_or("mlp_bias", false));
  return {};
}

Result<NormWeights> load_norm(const EncoderConfig& config, const WeightPacker& packer, const std::string& name, int size) {
  return packer.rms_norm(name, size, config.layer_norm_eps, is_gemma(config) && !has_whole_norms(config) ? 1.0F : 0.0F);
}

Result<> load_attention(const EncoderConfig& config, const WeightPacker& packer, const std::string& prefix,
                        TransformerLayer& layer) {
  const TransformerConfig& t = config.transformer;
  const int queries = config.heads * t.head_dim;
  const int keys = t.kv_heads * t.head_dim;
  layer.qkv =
      TRY(packer.linear({LinearPart{prefix + "q_proj", queries, t.qkv_bias}, LinearPart{prefix + "k_proj", keys, t.qkv_bias},
                         LinearPart{prefix + "v_proj", keys, t.qkv_bias}},
                        config.hidden_size));
  layer.output = TRY(packer.linear({LinearPart{prefix + "o_proj", config.hidden_size, t.output_bias}}, queries));
  if (config.model_type != "qwen3" && !is_gemma(config)) return {};
  layer.query_norm = TRY(load_norm(config, packer, prefix + "q_norm", t.head_dim));
  layer.key_norm = TRY(load_norm(config, packer, prefix + "k_norm", t.head_dim));
  return {};
}

Result<TransformerLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, int index) {
  const TransformerConfig& t = config.transformer;
  const int hidden = config.hidden_size;
  const std::string prefix = fmt::format("layers.{}.", index);
  TransformerLayer layer;
  layer.attention_input = TRY(load_norm(config, packer, prefix + "input_layernorm", hidden));
  TRY_VOID(load_attention(config, packer, prefix + "self_attn.", layer));
  const std::string after_attention = prefix + "post_attention_layernorm";
  if (is_gemma(config)) {
    layer.attention_result = TRY(load_norm(config, packer, after_attention, hidden));
    layer.feed_input = TRY(load_norm(config, packer, prefix + "pre_feedforward_layernorm", hidden));
    layer.feed_result = TRY(load_norm(config, packer, prefix + "post_feedforward_layernorm", hidden));
  } else {
    layer.feed_input = TRY(load_norm(config, packer, after_attention, hidden));
  }
  const std::string mlp = prefix + "mlp.";
  layer.up = TRY(packer.linear({LinearPart{mlp + "gate_proj", config.intermediate_size, t.up_bias},
                                LinearPart{mlp + "up_proj", config.intermediate_size, t.up_bias}},
                               hidden));
  layer.down = TRY(packer.linear({LinearPart{mlp + "down_proj", hidden, t.down_bias}}, config.intermediate_size));
  layer.is_local = !t.is_local.empty() && t.is_local[static_cast<size_t>(index)];
  return layer;
}

}  // namespace

Result<> read_decoder_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_sizes(config, {.default_positions = kDefaultPositions}, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  if (encoder.model_type == "qwen3" && !config.find("head_dim")) t.head_dim = kQwen3HeadDim;
  TRY_VOID(check_rotary(config, encoder));
  encoder.activation = TRY(read_activation(config, "hidden_act", "silu"));
  encoder.layer_norm_eps = TRY(read_epsilon(config, "rms_norm_eps", encoder.model_type == "eurobert" ? 1e-5 : 1e-6));
  TRY_VOID(read_biases(config, encoder));
  const bool is_causal = TRY(read_causal(config, encoder));
  if (is_causal) t.sight.right = 0;
  TRY_VOID(read_windows(config, is_causal, encoder));
  t.rope = TRY(read_rope(config, {.max_positions = encoder.max_positions}));
  // Dynamic scaling is what makes longer texts than the stated length possible.
  if (t.rope->kind == RopeConfig::Kind::kDynamic) {
    encoder.max_positions = static_cast<int>(std::min(encoder.max_positions * std::max(1.0, t.rope->factor), kMostPositions));
  }
  if (is_causal && encoder.model_type == "qwen2" && config.find("auto_map") && !config.find("is_causal")) {
    notes.push_back("config.json: is_causal is missing: causal attention; models trained with both directions need it false");
  }
  return {};
}

Result<> read_gemma3_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_sizes(config, {.default_positions = 131072}, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  if (!config.find("head_dim")) t.head_dim = 256;
  TRY_VOID(check_rotary(config, encoder));
  encoder.activation = TRY(read_activation(config, "hidden_activation", "gelu_pytorch_tanh"));
  encoder.layer_norm_eps = TRY(read_epsilon(config, "rms_norm_eps", 1e-6));
  if (config.find("attn_logit_softcapping")) {
    return fail(ErrorCode::kUnsupported, "config.json: attn_logit_softcapping: only null is supported");
  }
  TRY_VOID(read_biases(config, encoder));
  const double scalar = TRY(config.double_or("query_pre_attn_scalar", 256));
  if (!(scalar > 0 && scalar < 1e6)) {
    return fail(ErrorCode::kCorrupt, "config.json: query_pre_attn_scalar: found {}, wanted more than 0", scalar);
  }
  t.scale = static_cast<float>(1 / std::sqrt(scalar));
  t.embedding_scale = std::sqrt(static_cast<float>(encoder.hidden_size));
  const bool is_causal = TRY(read_causal(config, encoder));
  if (is_causal) t.sight.right = 0;
  const int window = TRY(int_member(config, "sliding_window", {1, kMaxWindow}, kDefaultWindow));
  t.local_sight = is_causal ? window_sight(window, true) : Sight{window / 2, window / 2};
  t.is_local = TRY(read_layer_types(config, encoder.layers));
  const char* pattern = config.find("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  const int period = TRY(int_member(config, pattern, {1, kMaxWindow}, 6));
  for (int layer = static_cast<int>(t.is_local.size()); layer < encoder.layers; ++layer) {
    t.is_local.push_back((layer + 1) % period != 0);
  }
  const int positions = encoder.max_positions;
  t.rope = TRY(read_rope(config, {1000000, "rope_theta", "full_attention", positions}));
  t.local_rope = TRY(read_rope(config, {10000, "rope_local_base_freq", "sliding_attention", positions}));
  // Scaling by the older field is for layers that see everything.
  if (config.find("rope_scaling")) t.local_rope->kind = RopeConfig::Kind::kDefault;
  return {};
}

Result<std::unique_ptr<Encoder>> load_decoder(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                              Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embed_tokens.weight"));
  const WeightPacker packer(weights, plan, team);
  TransformerParts parts;
  parts.words = TRY(packer.table("embed_tokens.weight", config.vocab_size, config.hidden_size));
  for (int i = 0; i < config.layers; ++i) parts.layers.push_back(TRY(load_layer(config, packer, i)));
  parts.final_norm = TRY(load_norm(config, packer, "norm", config.hidden_size));
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
