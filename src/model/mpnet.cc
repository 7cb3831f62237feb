// BERT without token types, with positions counted from the padding id, and a bias by distance that all layers share.
// Source: Song et al. 2020 and transformers' MPNetModel.
#include "model/biased_bert.h"
#include "model/bucket_bias.h"
#include "model/config_fields.h"
#include "model/model_spec_parts.h"
#include "model/transformer.h"

namespace inlay {
namespace {

constexpr int kPositionPadding = 1;  // fixed in the authors' code, whatever the config says

Result<TransformerLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, const std::string& prefix) {
  const int hidden = config.hidden_size;
  const std::string self = prefix + "attention.attn.";
  TransformerLayer layer;
  layer.qkv = TRY(packer.linear({self + "q", self + "k", self + "v"}, hidden, hidden));
  layer.output = TRY(packer.linear({self + "o"}, hidden, hidden));
  layer.attention_sum = TRY(packer.norm(prefix + "attention.LayerNorm", hidden, config.layer_norm_eps));
  layer.up = TRY(packer.linear({prefix + "intermediate.dense"}, config.intermediate_size, hidden));
  layer.down = TRY(packer.linear({prefix + "output.dense"}, hidden, config.intermediate_size));
  layer.feed_sum = TRY(packer.norm(prefix + "output.LayerNorm", hidden, config.layer_norm_eps));
  return layer;
}

}  // namespace

Result<> read_mpnet_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_sizes(config, {}, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  encoder.token_types = 0;
  encoder.max_positions -= kPositionPadding + 1;
  if (encoder.max_positions < 1) {
    return fail(ErrorCode::kCorrupt, "config.json: max_position_embeddings: wanted {} or more", kPositionPadding + 2);
  }
  encoder.activation = TRY(read_activation(config, "hidden_act", "gelu"));
  encoder.layer_norm_eps = TRY(read_epsilon(config, "layer_norm_eps", 1e-12));
  t.is_gated = false;
  t.position_pad = kPositionPadding;
  return read_buckets(config, t);
}

Result<std::unique_ptr<Encoder>> load_mpnet(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                            Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embeddings.word_embeddings.weight"));
  const WeightPacker packer(weights, plan, team);
  const int hidden = config.hidden_size;
  TransformerParts parts;
  parts.words = TRY(packer.table("embeddings.word_embeddings.weight", config.vocab_size, hidden));
  parts.positions =
      TRY(packer.table("embeddings.position_embeddings.weight", config.max_positions + kPositionPadding + 1, hidden));
  parts.embedding_norm = TRY(packer.norm("embeddings.LayerNorm", hidden, config.layer_norm_eps));
  for (int i = 0; i < config.layers; ++i) {
    parts.layers.push_back(TRY(load_layer(config, packer, fmt::format("encoder.layer.{}.", i))));
  }
  parts.bias = TRY(load_bucket_bias(config, weights, "encoder.relative_attention_bias.weight"));
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
