// JinaBert v2: BERT with ALiBi in place of positions, and a gated feed-forward block.
// Source: jinaai's jina-bert-implementation and jina-bert-v2-qk-post-norm; Press et al. 2021.
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

// The model for code: norms of queries and keys, what a block reads is added twice, and the halves of the gate are exchanged.
Result<TransformerLayer> load_code_layer(const EncoderConfig& config, const WeightPacker& packer, const std::string& prefix) {
  const int hidden = config.hidden_size;
  const float eps = config.layer_norm_eps;
  const std::string self = prefix + "attention.self.";
  TransformerLayer layer;
  layer.qkv = TRY(packer.linear({self + "query", self + "key", self + "value"}, hidden, hidden));
  layer.query_norm = TRY(packer.norm(self + "layer_norm_q", hidden, eps));
  layer.key_norm = TRY(packer.norm(self + "layer_norm_k", hidden, eps));
  layer.output = TRY(packer.linear({prefix + "attention.output.dense"}, hidden, hidden));
  layer.attention_sum = TRY(packer.norm(prefix + "attention.output.LayerNorm", hidden, eps));
  layer.second_sum = TRY(packer.norm(prefix + "layer_norm_1", hidden, eps));
  layer.up = TRY(packer.linear({LinearPart{prefix + "mlp.up_gated_layer", 2 * config.intermediate_size, false}}, hidden));
  layer.down = TRY(packer.linear({prefix + "mlp.down_layer"}, hidden, config.intermediate_size));
  layer.feed_sum = TRY(packer.norm(prefix + "layer_norm_2", hidden, eps));
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
  const bool is_for_code = store.contains(weights.full_name("encoder.layer.0.attention.self.layer_norm_q.weight"));
  const WeightPacker packer(weights, plan, team);
  const int hidden = config.hidden_size;
  TransformerParts parts;
  parts.words = TRY(packer.table("embeddings.word_embeddings.weight", config.vocab_size, hidden));
  if (config.token_types > 0) {
    parts.types = TRY(packer.table("embeddings.token_type_embeddings.weight", config.token_types, hidden));
  }
  parts.embedding_norm = TRY(packer.norm("embeddings.LayerNorm", hidden, config.layer_norm_eps));
  for (int i = 0; i < config.layers; ++i) {
    const std::string prefix = fmt::format("encoder.layer.{}.", i);
    parts.layers.push_back(TRY((is_for_code ? load_code_layer : load_layer)(config, packer, prefix)));
  }
  parts.bias = TRY(DistanceBias::make(config.heads, config.max_positions, [&config](int head, int distance) {
    return -alibi_slope(head, config.heads) * static_cast<float>(distance < 0 ? -distance : distance);
  }));
  EncoderConfig used = config;
  used.transformer.activates_first = !is_for_code;
  return make_transformer(used, plan.compute, std::move(parts));
}

}  // namespace inlay
