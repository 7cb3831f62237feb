// x = LN(word[id] (+ position[p]) (+ type[tt])); layers as BERT's, with scores (q k + q Kr[i - j] + k Qr[i - j]) / sqrt(3 d),
// where Kr and Qr are projections of a table of relative positions.
// Source: He et al. 2021 and transformers' DebertaV2Model.
#include "model/deberta.h"

#include <algorithm>
#include <cmath>

#include "model/config_fields.h"
#include "model/model_spec_parts.h"
#include "model/transformer.h"
#include "model/weight_packer.h"

namespace inlay {
namespace {

constexpr int kMostDistances = 1 << 16;

// "c2p|p2c", or a list.
Result<> read_products(const Json& config, TransformerConfig& t) {
  std::vector<std::string> names;
  const std::optional<Json> value = config.find("pos_att_type");
  if (value && value->is_array()) {
    for (const Json& item : TRY(value->items())) names.emplace_back(TRY(item.as_string()));
  } else if (value) {
    std::string_view text = TRY(value->as_string());
    while (!text.empty()) {
      const size_t bar = std::min(text.find('|'), text.size());
      names.emplace_back(text.substr(0, bar));
      text.remove_prefix(std::min(bar + 1, text.size()));
    }
  }
  for (const std::string& name : names) {
    if (name == "c2p") {
      t.content_to_position = true;
    } else if (name == "p2c") {
      t.position_to_content = true;
    } else if (!name.empty()) {
      return fail(ErrorCode::kUnsupported, "config.json: pos_att_type: found '{}', supported: c2p, p2c", name);
    }
  }
  return {};
}

Result<> read_relative(const Json& config, EncoderConfig& encoder) {
  TransformerConfig& t = encoder.transformer;
  if (!TRY(config.bool_or("relative_attention", false))) return {};
  TRY_VOID(read_products(config, t));
  const int buckets = TRY(int_member(config, "position_buckets", {-1, kMostDistances}, -1));
  const int farthest = TRY(int_member(config, "max_relative_positions", {-1, kMostDistances}, -1));
  t.farthest_span = farthest < 1 ? std::min(encoder.max_positions, kMostDistances) : farthest;
  t.has_position_buckets = buckets > 0;
  t.span = buckets > 0 ? buckets : t.farthest_span;
  if (buckets > 0 && (buckets < 4 || t.farthest_span <= buckets / 2 + 1)) {
    return fail(ErrorCode::kUnsupported, "config.json: position_buckets: {} for distances up to {}", buckets, t.farthest_span);
  }
  t.shares_position_keys = TRY(config.bool_or("share_att_key", false));
  const std::string norm = TRY(config.string_or("norm_rel_ebd", "none"));
  t.normalises_positions = norm.find("layer_norm") != std::string::npos;
  return {};
}

// The table of relative positions through one linear layer, head by head.
class PositionLoader {
 public:
  PositionLoader(const EncoderConfig& config, const NamedWeights& weights, const LoadPlan& plan)
      : config_(config), plan_(plan), packer_(weights, plan_, alone_) {
    // Positions are few, and read in floats by all precisions; what they are made of is not kept.
    plan_.compute.format = Format::kF32;
    plan_.packed = nullptr;
    // Where positions go through the layers of queries and keys, those are told of already.
    plan_.visitor = nullptr;
  }

  Result<> read_table() {
    const TransformerConfig& t = config_.transformer;
    const int hidden = config_.hidden_size;
    stride_ = static_cast<int64_t>(round_up(static_cast<size_t>(hidden), 64)) + 64;
    table_ = Buffer(static_cast<size_t>(2 * t.span + 1) * static_cast<size_t>(stride_) * sizeof(float));
    const EmbeddingTable rows = TRY(packer_.table("encoder.rel_embeddings.weight", 2 * t.span, hidden));
    for (int row = 0; row < 2 * t.span; ++row) rows.set_row(row, floats().row(row));
    if (!t.normalises_positions) return {};
    const NormWeights norm = TRY(packer_.norm("encoder.LayerNorm", hidden, config_.layer_norm_eps));
    normalise(*plan_.compute.kernels, Share{}, norm, floats(), floats(), 2 * t.span);
    return {};
  }

  Result<std::vector<PackedLinear>> project(const std::string& name) {
    const Kernels& kernels = *plan_.compute.kernels;
    const int positions = 2 * config_.transformer.span;
    const int hidden = config_.hidden_size;
    const PackedLinear weights = TRY(packer_.linear({name}, hidden, hidden));
    const int64_t width = weights.shape().padded_columns;
    std::vector<float> projected(static_cast<size_t>(positions * width));
    const Operand input = {table_.as<>(), stride_, nullptr, nullptr};
    linear(kernels, Share{},
           {.weights = weights, .input = input, .rows = positions, .output = projected.data(), .output_stride = width});
    std::vector<PackedLinear> heads;
    const int dim = config_.transformer.head_dim;
    for (int head = 0; head < config_.heads; ++head) {
      const PackedLinear::RowSource row = [&](int position, std::span<float> out) -> Result<> {
        std::copy_n(projected.begin() + position * width + int64_t{head} * dim, dim, out.begin());
        return {};
      };
      heads.push_back(TRY(PackedLinear::pack(kernels, Format::kF32, positions, dim, row, {}, alone_)));
    }
    return heads;
  }

 private:
  Floats floats() { return {table_.as<float>(), stride_}; }

  const EncoderConfig& config_;
  LoadPlan plan_;
  Team alone_{1};  // a head's part is too small to be shared out
  WeightPacker packer_;
  Buffer table_;
  int64_t stride_ = 0;
};

std::vector<int> rows_by_distance(const EncoderConfig& config) {
  const TransformerConfig& t = config.transformer;
  std::vector<int> rows;
  for (int distance = 1 - config.max_positions; distance < config.max_positions; ++distance) {
    const int bucket = t.has_position_buckets ? log_bucket(distance, t.span, t.farthest_span) : distance;
    rows.push_back(std::clamp(bucket + t.span, 0, 2 * t.span - 1));
  }
  return rows;
}

Result<std::unique_ptr<Disentangled>> load_disentangled(const EncoderConfig& config, PositionLoader& loader,
                                                        const std::string& self) {
  const TransformerConfig& t = config.transformer;
  if (!t.content_to_position && !t.position_to_content) return nullptr;
  Disentangled::Parts parts;
  parts.rows = rows_by_distance(config);
  parts.scale = t.scale;
  const std::string shared = t.shares_position_keys ? "" : "pos_";
  if (t.content_to_position) parts.for_queries = TRY(loader.project(self + shared + "key_proj"));
  if (t.position_to_content) parts.for_keys = TRY(loader.project(self + shared + "query_proj"));
  return std::make_unique<Disentangled>(std::move(parts));
}

Result<TransformerLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, PositionLoader& positions,
                                    const std::string& prefix) {
  const int hidden = config.hidden_size;
  const std::string self = prefix + "attention.self.";
  TransformerLayer layer;
  // The projections of positions read the same weights, which packing lets go.
  layer.disentangled = TRY(load_disentangled(config, positions, self));
  layer.qkv = TRY(packer.linear({self + "query_proj", self + "key_proj", self + "value_proj"}, hidden, hidden));
  layer.output = TRY(packer.linear({prefix + "attention.output.dense"}, hidden, hidden));
  layer.attention_sum = TRY(packer.norm(prefix + "attention.output.LayerNorm", hidden, config.layer_norm_eps));
  layer.up = TRY(packer.linear({prefix + "intermediate.dense"}, config.intermediate_size, hidden));
  layer.down = TRY(packer.linear({prefix + "output.dense"}, hidden, config.intermediate_size));
  layer.feed_sum = TRY(packer.norm(prefix + "output.LayerNorm", hidden, config.layer_norm_eps));
  return layer;
}

}  // namespace

Result<> read_deberta_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>&) {
  TransformerConfig& t = encoder.transformer;
  TRY_VOID(read_sizes(config, {}, encoder));
  TRY_VOID(read_head_sizes(config, encoder));
  encoder.activation = TRY(read_activation(config, "hidden_act", "gelu"));
  encoder.layer_norm_eps = TRY(read_epsilon(config, "layer_norm_eps", 1e-7));
  t.is_gated = false;
  if (TRY(config.int_or("embedding_size", encoder.hidden_size)) != encoder.hidden_size) {
    return fail(ErrorCode::kUnsupported, "config.json: embedding_size: supported: hidden_size, {}", encoder.hidden_size);
  }
  if (TRY(config.int_or("conv_kernel_size", 0)) > 0) {
    return fail(ErrorCode::kUnsupported, "config.json: conv_kernel_size: a convolution beside the layers is not supported");
  }
  t.has_position_table = TRY(config.bool_or("position_biased_input", true));
  TRY_VOID(read_relative(config, encoder));
  const int products = 1 + (t.content_to_position ? 1 : 0) + (t.position_to_content ? 1 : 0);
  t.scale = 1 / std::sqrt(static_cast<float>(t.head_dim * products));
  return {};
}

Result<std::unique_ptr<Encoder>> load_deberta(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                              Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embeddings.word_embeddings.weight"));
  const WeightPacker packer(weights, plan, team);
  const int hidden = config.hidden_size;
  const TransformerConfig& t = config.transformer;
  TransformerParts parts;
  parts.words = TRY(packer.table("embeddings.word_embeddings.weight", config.vocab_size, hidden));
  if (t.has_position_table) {
    parts.positions = TRY(packer.table("embeddings.position_embeddings.weight", config.max_positions, hidden));
  }
  if (config.token_types > 0) {
    parts.types = TRY(packer.table("embeddings.token_type_embeddings.weight", config.token_types, hidden));
  }
  parts.embedding_norm = TRY(packer.norm("embeddings.LayerNorm", hidden, config.layer_norm_eps));
  PositionLoader positions(config, weights, plan);
  if (t.span > 0) TRY_VOID(positions.read_table());
  for (int i = 0; i < config.layers; ++i) {
    parts.layers.push_back(TRY(load_layer(config, packer, positions, fmt::format("encoder.layer.{}.", i))));
  }
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
