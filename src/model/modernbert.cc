// x = LN(word[id]); for each layer: x += Wo attention(rope(Wqkv LN(x))); x += W2 (act(a) * b), (a, b) = W1 LN(x); LN at the
// end. The first layer has no norm before attention. Source: Warner et al. 2024 and transformers' ModernBertModel.
#include "model/modernbert.h"

#include "model/config_fields.h"
#include "model/model_spec_parts.h"
#include "model/transformer.h"
#include "model/weight_packer.h"

namespace inlay {
namespace {

constexpr int kDefaultWindow = 128;

Result<NormWeights> load_norm(const EncoderConfig& config, const WeightPacker& packer, const std::string& name) {
  if (config.transformer.norm_bias) return packer.norm(name, config.hidden_size, config.layer_norm_eps);
  return packer.norm_without_bias(name, config.hidden_size, config.layer_norm_eps);
}

Result<TransformerLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, int index) {
  const TransformerConfig& t = config.transformer;
  const int hidden = config.hidden_size;
  const std::string prefix = fmt::format("layers.{}.", index);
  TransformerLayer layer;
  if (index > 0) layer.attention_input = TRY(load_norm(config, packer, prefix + "attn_norm"));
  layer.qkv = TRY(packer.linear({LinearPart{prefix + "attn.Wqkv", 3 * hidden, t.qkv_bias}}, hidden));
  layer.output = TRY(packer.linear({LinearPart{prefix + "attn.Wo", hidden, t.output_bias}}, hidden));
  layer.feed_input = TRY(load_norm(config, packer, prefix + "mlp_norm"));
  layer.up = TRY(packer.linear({LinearPart{prefix + "mlp.Wi", 2 * config.intermediate_size, t.up_bias}}, hidden));
  layer.down = TRY(packer.linear({LinearPart{prefix + "mlp.Wo", hidden, t.down_bias}}, config.intermediate_size));
  layer.is_local = t.is_local[static_cast<size_t>(index)];
  return layer;
}

Result<> read_layers(const Json& config, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  t.is_local = TRY(read_layer_types(config, encoder.layers));
  if (!t.is_local.empty()) return {};
  const int period = TRY(int_member(config, "global_attn_every_n_layers", {1, encoder.layers + 1}, 3));
  for (int layer = 0; layer < encoder.layers; ++layer) t.is_local.push_back(layer % period != 0);
  return {};
}

}  // namespace

Result<> read_modernbert_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_sizes(config, {.default_positions = 8192}, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  TRY_VOID(check_rotary(config, encoder));
  encoder.activation = TRY(read_activation(config, "hidden_activation", "gelu"));
  encoder.layer_norm_eps = TRY(read_epsilon(config, "norm_eps", 1e-5));
  t.norm_bias = TRY(config.bool_or("norm_bias", false));
  t.qkv_bias = t.output_bias = TRY(config.bool_or("attention_bias", false));
  t.up_bias = t.down_bias = TRY(config.bool_or("mlp_bias", false));
  TRY_VOID(read_layers(config, encoder));
  const int window = TRY(int_member(config, "local_attention", {1, 1 << 24}, kDefaultWindow));
  t.local_sight = {window / 2, window / 2};
  const int positions = encoder.max_positions;
  t.rope = TRY(read_rope(config, {160000, "global_rope_theta", "full_attention", positions}));
  const double local_theta = TRY(is_null(config, "local_rope_theta")) ? t.rope->theta : 10000;
  t.local_rope = TRY(read_rope(config, {local_theta, "local_rope_theta", "sliding_attention", positions}));
  return {};
}

Result<std::unique_ptr<Encoder>> load_modernbert(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                                 Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embeddings.tok_embeddings.weight"));
  const WeightPacker packer(weights, plan, team);
  TransformerParts parts;
  parts.words = TRY(packer.table("embeddings.tok_embeddings.weight", config.vocab_size, config.hidden_size));
  parts.embedding_norm = TRY(load_norm(config, packer, "embeddings.norm"));
  for (int i = 0; i < config.layers; ++i) parts.layers.push_back(TRY(load_layer(config, packer, i)));
  parts.final_norm = TRY(load_norm(config, packer, "final_norm"));
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
