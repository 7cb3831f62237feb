// JinaBert v2: BERT with ALiBi in place of positions, and a gated feed-forward block.
// Source: jinaai's jina-bert-implementation; Press et al. 2021.
#include "model/biased_bert.h"
#include "model/config_fields.h"
#include "model/transformer.h"
#include "model/weight_packer.h"

namespace inlay {
namespace {

Result<TransformerLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, const std::string& prefix) {
  const int hidden = config.hidden_size;
  const std::string self = prefix + "attention.self.";
  TransformerLayer layer;
  layer.qkv = TRY(packer.linear({self + "query", self + "key", self + "value"}, hidden, hidden));
  layer.output = TRY(packer.linear({prefix + "attention.output.dense"}, hidden, hidden));
  layer.attention_sum = TRY(packer.norm(prefix + "attention.output.LayerNorm", hidden, config.layer_norm_eps));
  layer.up = TRY(packer.linear({LinearPart{prefix + "mlp.gated_layers", 2 * config.intermediate_size, false}}, hidden));
  layer.down = TRY(packer.linear({prefix + "mlp.wo"}, hidden, config.intermediate_size));
  layer.feed_sum = TRY(packer.norm(prefix + "mlp.layernorm", hidden, config.layer_norm_eps));
  return layer;
}

}  // namespace

Result<> read_jina_bert_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TRY_VOID(read_sizes(config, {.default_positions = 8192, .default_types = 2}, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  TRY_VOID(want_text(config, "position_embedding_type", "alibi"));
  const std::string feed = TRY(config.string_or("feed_forward_type", "original"));
  if (feed != "geglu") {
    return fail(ErrorCode::kUnsupported, "config.json: feed_forward_type: found '{}', supported: geglu", feed);
  }
  encoder.activation = Activation::kGelu;
  encoder.layer_norm_eps = TRY(read_epsilon(config, "layer_norm_eps", 1e-12));
  encoder.transformer.has_slopes = true;
  return {};
}

Result<std::unique_ptr<Encoder>> load_jina_bert(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                                Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embeddings.word_embeddings.weight"));
  const std::string extra = weights.full_name("encoder.layer.0.attention.self.layer_norm_q.weight");
  if (store.contains(extra)) {
    return fail(ErrorCode::kUnsupported, "{}: tensor '{}': JinaBert with norms of queries and keys is not supported",
                store.file_of(extra), extra);
  }
  const WeightPacker packer(weights, plan, team);
  const int hidden = config.hidden_size;
  TransformerParts parts;
  parts.words = TRY(packer.table("embeddings.word_embeddings.weight", config.vocab_size, hidden));
  if (config.token_types > 0) {
    parts.types = TRY(packer.table("embeddings.token_type_embeddings.weight", config.token_types, hidden));
  }
  parts.embedding_norm = TRY(packer.norm("embeddings.LayerNorm", hidden, config.layer_norm_eps));
  for (int i = 0; i < config.layers; ++i) {
    parts.layers.push_back(TRY(load_layer(config, packer, fmt::format("encoder.layer.{}.", i))));
  }
  parts.bias = TRY(DistanceBias::make(config.heads, config.max_positions, [&config](int head, int distance) {
    return -alibi_slope(head, config.heads) * static_cast<float>(distance < 0 ? -distance : distance);
  }));
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
