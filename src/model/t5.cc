// The encoder half of T5: root-mean-square norms before the blocks, no biases, scores that are not scaled, and a bias by
// distance that all layers take from the first. Source: Raffel et al. 2019 and transformers' T5EncoderModel.
#include "model/biased_bert.h"
#include "model/bucket_bias.h"
#include "model/config_fields.h"
#include "model/model_spec_parts.h"
#include "model/transformer.h"

namespace inlay {
namespace {

Result<TransformerLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, const std::string& prefix) {
  const TransformerConfig& t = config.transformer;
  const int hidden = config.hidden_size;
  const int inner = config.heads * t.head_dim;
  const std::string self = prefix + "layer.0.SelfAttention.";
  const std::string feed = prefix + "layer.1.DenseReluDense.";
  TransformerLayer layer;
  layer.attention_input = TRY(packer.rms_norm(prefix + "layer.0.layer_norm", hidden, config.layer_norm_eps));
  layer.qkv = TRY(packer.linear(
      {LinearPart{self + "q", inner, false}, LinearPart{self + "k", inner, false}, LinearPart{self + "v", inner, false}},
      hidden));
  layer.output = TRY(packer.linear({LinearPart{self + "o", hidden, false}}, inner));
  layer.feed_input = TRY(packer.rms_norm(prefix + "layer.1.layer_norm", hidden, config.layer_norm_eps));
  std::vector<LinearPart> up;
  if (t.is_gated) {
    up = {{feed + "wi_0", config.intermediate_size, false}, {feed + "wi_1", config.intermediate_size, false}};
  } else {
    up = {{feed + "wi", config.intermediate_size, false}};
  }
  layer.up = TRY(packer.linear(up, hidden));
  layer.down = TRY(packer.linear({LinearPart{feed + "wo", hidden, false}}, config.intermediate_size));
  return layer;
}

// "relu", or "gated-" and an activation, where gelu means its tanh form.
Result<> read_feed_forward(const Json& config, EncoderConfig& encoder) {
  constexpr std::string_view kGated = "gated-";
  std::string name = TRY(config.string_or("feed_forward_proj", "relu"));
  encoder.transformer.is_gated = name.starts_with(kGated);
  if (encoder.transformer.is_gated) name = name.substr(kGated.size());
  if (encoder.transformer.is_gated && name == "gelu") name = "gelu_new";
  const std::optional<Activation> activation = activation_from_config(name);
  if (!activation) {
    return fail(ErrorCode::kUnsupported, "config.json: feed_forward_proj: found '{}', supported: relu, gated-gelu and the like",
                name);
  }
  encoder.activation = *activation;
  return {};
}

}  // namespace

Result<> read_t5_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_sizes(config, {"d_model", "num_layers", "num_heads", "d_ff", "n_positions", 512, 0}, encoder));
  t.kv_heads = encoder.heads;
  t.head_dim = TRY(int_member(config, "d_kv", {1, 1024}, 64));
  if (int64_t{encoder.heads} * t.head_dim > 65536) {
    return fail(ErrorCode::kTooLarge, "config.json: {} heads of {} numbers", encoder.heads, t.head_dim);
  }
  t.scale = 1;
  encoder.layer_norm_eps = TRY(read_epsilon(config, "layer_norm_epsilon", 1e-6));
  TRY_VOID(read_feed_forward(config, encoder));
  return read_buckets(config, t);
}

Result<std::unique_ptr<Encoder>> load_t5(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                         Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "block.0.layer.0.SelfAttention.relative_attention_bias.weight"));
  const bool has_own_table = store.contains(weights.full_name("embed_tokens.weight"));
  const NamedWeights shared = has_own_table ? weights : TRY(NamedWeights::match(store, "shared.weight"));
  const WeightPacker packer(weights, plan, team);
  const WeightPacker table_packer(shared, plan, team);
  TransformerParts parts;
  parts.words =
      TRY(table_packer.table(has_own_table ? "embed_tokens.weight" : "shared.weight", config.vocab_size, config.hidden_size));
  for (int i = 0; i < config.layers; ++i) {
    parts.layers.push_back(TRY(load_layer(config, packer, fmt::format("block.{}.", i))));
  }
  parts.final_norm = TRY(packer.rms_norm("final_layer_norm", config.hidden_size, config.layer_norm_eps));
  parts.bias = TRY(load_bucket_bias(config, weights, "block.0.layer.0.SelfAttention.relative_attention_bias.weight"));
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
