// config.json of NomicBert, GTE and Jina v3, in the spelling of their authors' code and in that of transformers 5.
#include <array>
#include <cmath>

#include "model/config_fields.h"
#include "model/model_spec_parts.h"
#include "model/rotary_bert.h"

namespace inlay {
namespace {

constexpr int kGateMultiple = 256;  // NomicBert's code rounds the width of gated blocks up
constexpr int kMaxExperts = 1024;

int rounded_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

// "swiglu" and the like, or an activation without a gate.
Result<> read_nomic_activation(const Json& config, EncoderConfig& encoder) {
  struct Gated {
    std::string_view name;
    Activation activation;
  };
  constexpr std::array<Gated, 3> kGated = {
      {{"swiglu", Activation::kSilu}, {"geglu", Activation::kGelu}, {"glu", Activation::kSigmoid}}};
  const std::string name = TRY(config.string_or("activation_function", "gelu"));
  for (const Gated& gated : kGated) {
    if (gated.name != name) continue;
    encoder.activation = gated.activation;
    return {};
  }
  encoder.transformer.is_gated = false;
  encoder.activation = TRY(read_activation(config, "activation_function", "gelu"));
  return {};
}

Result<> read_nomic_rope(const Json& config, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(want_flag(config, "rotary_emb_interleaved", false, false));
  if (TRY(config.double_or("rotary_emb_fraction", 1)) != 1) {
    return fail(ErrorCode::kUnsupported, "config.json: rotary_emb_fraction: supported: 1");
  }
  if (config.find("rotary_emb_scale_base")) {
    return fail(ErrorCode::kUnsupported, "config.json: rotary_emb_scale_base: supported: null");
  }
  t.rope = TRY(read_rope(config, {10000, "rotary_emb_base", "full_attention", encoder.max_positions}));
  const double factor = TRY(config.double_or("rotary_scaling_factor", 0));
  if (factor == 0) return {};
  t.rope->kind = RopeConfig::Kind::kDynamic;
  t.rope->factor = factor;
  t.rope->original_positions = TRY(int_member(config, "max_trained_positions", {1, 1 << 20}, 2048));
  if (factor < 1) {
    return fail(ErrorCode::kCorrupt, "config.json: rotary_scaling_factor: found {}, wanted 1 or more", factor);
  }
  return {};
}

Result<> read_nomic_experts(const Json& config, TransformerConfig& t) {
  t.experts = TRY(int_member(config, "num_experts", {0, kMaxExperts}, 0));
  t.expert_period = TRY(int_member(config, "moe_every_n_layers", {0, kMaxExperts}, 0));
  if (t.experts < 2 || t.expert_period < 2) {
    if (t.experts >= 2 && t.expert_period == 1) {
      return fail(ErrorCode::kUnsupported, "config.json: moe_every_n_layers: found 1, supported: 2 and more");
    }
    t.experts = 0;
    return {};
  }
  t.experts_used = TRY(int_member(config, "moe_top_k", {1, t.experts}, 1));
  TRY_VOID(want_flag(config, "moe_normalize_expert_weights", false, false));
  if (TRY(config.int_or("num_shared_experts", 0)) != 0) {
    return fail(ErrorCode::kUnsupported, "config.json: num_shared_experts: supported: 0");
  }
  return {};
}

// The spelling of GPT-2, which the authors' code took over.
Result<> read_nomic_hub_config(const Json& config, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  const SizeKeys keys = {"n_embd", "n_layer", "n_head", "n_inner", "n_positions", 2048, 2};
  TRY_VOID(read_sizes(config, keys, encoder));
  encoder.vocab_size = rounded_up(encoder.vocab_size, TRY(int_member(config, "pad_vocab_size_multiple", {1, 65536}, 1)));
  TRY_VOID(read_nomic_activation(config, encoder));
  if (t.is_gated) encoder.intermediate_size = rounded_up(encoder.intermediate_size, kGateMultiple);
  encoder.layer_norm_eps = TRY(read_epsilon(config, "layer_norm_epsilon", 1e-5));
  for (const std::string_view key : {"prenorm", "use_rms_norm", "causal", "parallel_block", "norm_mlp"}) {
    TRY_VOID(refuse_flag(config, key, "there is no NomicBert like that"));
  }
  t.qkv_bias = t.output_bias = TRY(config.bool_or("qkv_proj_bias", true));
  t.up_bias = TRY(config.bool_or("mlp_fc1_bias", true));
  t.down_bias = TRY(config.bool_or("mlp_fc2_bias", true));
  TRY_VOID(read_nomic_rope(config, encoder));
  return read_nomic_experts(config, t);
}

// hidden_size and the like, with one width of heads.
Result<> read_bert_sizes(const Json& config, const SizeKeys& keys, double epsilon, EncoderConfig& encoder) {
  TRY_VOID(read_sizes(config, keys, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  encoder.layer_norm_eps = TRY(read_epsilon(config, "layer_norm_eps", epsilon));
  return {};
}

// What all of them are.
Result<> check_rotary_bert(const Json& config, EncoderConfig& encoder) {
  TRY_VOID(read_head_sizes(config, encoder));
  if (encoder.transformer.kv_heads != encoder.heads || encoder.transformer.head_dim * encoder.heads != encoder.hidden_size) {
    return fail(ErrorCode::kUnsupported, "config.json: {} heads of {} numbers for {} hidden numbers", encoder.heads,
                encoder.transformer.head_dim, encoder.hidden_size);
  }
  return check_rotary(config, encoder);
}

}  // namespace

Result<> read_nomic_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  if (config.find("n_embd")) {
    TRY_VOID(read_nomic_hub_config(config, encoder));
  } else {
    TRY_VOID(read_bert_sizes(config, {.default_positions = 2048, .default_types = 2}, 1e-12, encoder));
    encoder.activation = TRY(read_activation(config, "hidden_act", "silu"));
    encoder.transformer.rope = TRY(read_rope(config, {.theta = 1000, .max_positions = encoder.max_positions}));
  }
  return check_rotary_bert(config, encoder);
}

Result<> read_gte_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TransformerConfig& t = encoder.transformer;
  const bool is_hub = encoder.model_type == "new";
  TRY_VOID(read_bert_sizes(config, {.default_positions = 8192, .default_types = 1}, 1e-12, encoder));
  encoder.activation = TRY(read_activation(config, "hidden_act", "gelu"));
  TRY_VOID(want_text(config, "layer_norm_type", "layer_norm"));
  TRY_VOID(want_text(config, "position_embedding_type", "rope"));
  TRY_VOID(refuse_flag(config, "logn_attention_scale", "attention is not scaled by length"));
  TRY_VOID(refuse_flag(config, "logn_attention_clip1", "attention is not scaled by length"));
  TRY_VOID(want_flag(config, "pack_qkv", true, true));
  t.qkv_bias = t.output_bias = t.down_bias = true;
  t.activates_first = !is_hub;
  t.rope = TRY(read_rope(config, {.theta = is_hub ? 10000.0 : 160000.0, .max_positions = encoder.max_positions}));
  return check_rotary_bert(config, encoder);
}

Result<> read_jina_v3_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_bert_sizes(config, {.default_positions = 8194, .default_types = 1}, 1e-5, encoder));
  encoder.activation = TRY(read_activation(config, "hidden_act", "gelu"));
  t.is_gated = false;
  t.qkv_bias = t.output_bias = t.up_bias = t.down_bias = true;
  const char* key = config.find("rotary_emb_base") ? "rotary_emb_base" : "rope_theta";
  t.rope = TRY(read_rope(config, {20000, key, "full_attention", encoder.max_positions}));
  if (config.find("lora_adaptations")) {
    notes.push_back("config.json: lora_adaptations: the plain weights are used, as the authors' code does without a task");
  }
  return check_rotary_bert(config, encoder);
}

}  // namespace inlay
