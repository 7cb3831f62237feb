// x = LN(word[id] + type[tt]); for each layer: x = LN(x + Wo attention(rope(Wqkv x))); x = LN(x + feed(x)), where feed is
// W2 act(W1 x), W2 (act(Wgate x) * Wup x) or a mixture of experts.
// Source: nomic-ai's modeling_hf_nomic_bert, Alibaba-NLP's new-impl, jinaai's xlm-roberta-flash-implementation, and
// transformers' NomicBertModel, GteModel and JinaEmbeddingsV3Model.
#include "model/rotary_bert.h"

#include <array>

#include "model/model_spec_parts.h"
#include "model/transformer.h"
#include "model/weight_packer.h"

namespace inlay {
namespace {

// How a family spells its tensors; those of a layer come after `layers`, the layer's number and a dot.
struct Names {
  std::string_view embedding_norm;
  std::string_view layers;
  std::vector<std::string> qkv;  // one of three widths, or three
  std::string_view output;
  std::string_view attention_norm;
  std::vector<std::string> up;  // in the order of the product's halves
  std::string_view down;
  std::string_view feed_norm;
};

Names names_of(const EncoderConfig& config, const NamedWeights& weights) {
  const bool is_gated = config.transformer.is_gated;
  const auto has = [&weights](std::string_view name) { return weights.store().contains(weights.full_name(name)); };
  using List = std::vector<std::string>;
  if (has("layers.0.self_attn.q_proj.weight")) {
    return {"embeddings.LayerNorm",
            "layers.",
            {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
            "self_attn.o_proj",
            "post_attention_layernorm",
            is_gated ? List{"mlp.gate_proj", "mlp.up_proj"} : List{"mlp.fc1"},
            is_gated ? "mlp.down_proj" : "mlp.fc2",
            "post_mlp_layernorm"};
  }
  if (config.model_type == "new") {
    return {"embeddings.LayerNorm", "encoder.layer.", {"attention.qkv_proj"},
            "attention.o_proj",     "attn_ln",        {"mlp.up_gate_proj"},
            "mlp.down_proj",        "mlp_ln"};
  }
  const bool is_jina = config.model_type == "jina_embeddings_v3";
  return {"emb_ln",
          "encoder.layers.",
          {is_jina ? "mixer.Wqkv" : "attn.Wqkv"},
          is_jina ? "mixer.out_proj" : "attn.out_proj",
          "norm1",
          is_gated ? List{"mlp.fc12", "mlp.fc11"} : List{"mlp.fc1"},
          "mlp.fc2",
          "norm2"};
}

// The chosen task's matrix of [tasks, rows, columns].
Result<std::vector<float>> read_low_rank(const NamedWeights& weights, const TransformerConfig& t, const std::string& name,
                                         std::array<int64_t, 2> shape) {
  const int64_t tasks = static_cast<int64_t>(t.tasks.size());
  const TensorView* const tensor = TRY(weights.require(name, {tasks, shape[0], shape[1]}));
  std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]));
  TRY_VOID(to_float(*tensor, t.task * shape[0] * shape[1], values));
  return values;
}

// What the chosen task adds to the rows of the table `name`; empty without one.
Result<LowRankRows> load_added_rows(const EncoderConfig& config, const NamedWeights& weights, const std::string& name,
                                    int rows) {
  const TransformerConfig& t = config.transformer;
  LowRankRows added;
  if (t.task < 0) return added;
  const std::string lora = name + ".parametrizations.weight.0.lora_";
  added.rank = t.lora_rank;
  added.scale = t.lora_scale;
  added.rows = TRY(read_low_rank(weights, t, lora + "A", {rows, t.lora_rank}));
  added.columns = TRY(read_low_rank(weights, t, lora + "B", {t.lora_rank, config.hidden_size}));
  return added;
}

// Loads the layers of one model.
class RotaryBertLoader {
 public:
  RotaryBertLoader(const EncoderConfig& config, const NamedWeights& weights, const WeightPacker& packer)
      : config_(config), packer_(packer), weights_(weights), names_(names_of(config, weights)) {}

  Result<NormWeights> norm(const std::string& name) const {
    return packer_.norm(name, config_.hidden_size, config_.layer_norm_eps);
  }
  Result<NormWeights> embedding_norm() const { return norm(std::string(names_.embedding_norm)); }

  Result<TransformerLayer> layer(int index) const {
    const TransformerConfig& t = config_.transformer;
    const std::string prefix = fmt::format("{}{}.", names_.layers, index);
    const int hidden = config_.hidden_size;
    TransformerLayer layer;
    layer.qkv = TRY(linear(prefix, names_.qkv, {3 * hidden, hidden, t.qkv_bias}));
    layer.output = TRY(linear(prefix, {std::string(names_.output)}, {hidden, hidden, t.output_bias}));
    layer.attention_sum = TRY(norm(fmt::format("{}{}", prefix, names_.attention_norm)));
    const int wide = (t.is_gated ? 2 : 1) * config_.intermediate_size;
    if (t.experts > 0 && index % t.expert_period == 1) {
      layer.experts = TRY(experts(prefix + "mlp."));
    } else {
      layer.up = TRY(linear(prefix, names_.up, {wide, hidden, t.up_bias}));
      layer.down = TRY(linear(prefix, {std::string(names_.down)}, {hidden, config_.intermediate_size, t.down_bias}));
    }
    layer.feed_sum = TRY(norm(fmt::format("{}{}", prefix, names_.feed_norm)));
    return layer;
  }

 private:
  struct LinearShape {
    int columns;  // of all names together
    int k;
    bool has_bias;
  };

  Result<PackedLinear> linear(const std::string& prefix, const std::vector<std::string>& names,
                              const LinearShape& shape) const {
    const int columns = shape.columns / static_cast<int>(names.size());
    std::vector<LinearPart> parts;
    for (const std::string& name : names) {
      parts.push_back({prefix + name, columns, shape.has_bias});
      // Weights that low-rank additions go to lie under a name of their own.
      const std::string original = prefix + name + ".parametrizations.weight.original";
      if (weights_.store().contains(weights_.full_name(original))) return original_linear(prefix + name, original, shape);
    }
    return packer_.linear(parts, shape.k);
  }

  // W, or W + scale * B A with the matrices of the task that was chosen.
  Result<PackedLinear> original_linear(const std::string& name, const std::string& original, const LinearShape& shape) const {
    const TransformerConfig& t = config_.transformer;
    if (t.task < 0) return packer_.linear({LinearPart{name, shape.columns, shape.has_bias, original}}, shape.k);
    LinearRecipe recipe = {
        fmt::format("{}@{}", name, t.tasks[static_cast<size_t>(t.task)]), shape.columns, shape.k, {}, {}, {original}};
    const TensorView* const weights = TRY(weights_.require(original, {shape.columns, shape.k}));
    if (shape.has_bias) recipe.bias = TRY(packer_.vector(name + ".bias", shape.columns));
    const std::string lora = name + ".parametrizations.weight.0.lora_";
    const std::vector<float> a = TRY(read_low_rank(weights_, t, lora + "A", {t.lora_rank, shape.k}));
    const std::vector<float> b = TRY(read_low_rank(weights_, t, lora + "B", {shape.columns, t.lora_rank}));
    const int k = shape.k;
    recipe.row = [&a, &b, &t, weights, k](int column, std::span<float> out) -> Result<> {
      TRY_VOID(to_float(*weights, int64_t{column} * k, out));
      for (int r = 0; r < t.lora_rank; ++r) {
        const float factor = t.lora_scale * b[static_cast<size_t>(int64_t{column} * t.lora_rank + r)];
        for (int i = 0; i < k; ++i) out[static_cast<size_t>(i)] += factor * a[static_cast<size_t>(int64_t{r} * k + i)];
      }
      return {};
    };
    return packer_.linear(recipe);
  }

  // Both matrices of all experts are [experts * intermediate, hidden]; the second is multiplied from the other side.
  Result<std::unique_ptr<Experts>> experts(const std::string& prefix) const {
    const TransformerConfig& t = config_.transformer;
    const int hidden = config_.hidden_size;
    const int wide = config_.intermediate_size;
    const std::string name = prefix + "experts.mlp.";
    const TensorView* const w1 = TRY(weights_.require(name + "w1", {int64_t{t.experts} * wide, hidden}));
    const TensorView* const w2 = TRY(weights_.require(name + "w2", {int64_t{t.experts} * wide, hidden}));
    std::vector<Expert> experts;
    for (int e = 0; e < t.experts; ++e) {
      const int64_t first = int64_t{e} * wide * hidden;
      LinearRecipe up = {fmt::format("{}w1[{}]", name, e), wide, hidden, {}, {}, {}};
      up.row = [=](int column, std::span<float> out) { return to_float(*w1, first + int64_t{column} * hidden, out); };
      LinearRecipe down = {fmt::format("{}w2[{}]", name, e), hidden, wide, {}, {}, {}};
      down.row = [=](int column, std::span<float> out) -> Result<> {
        for (int k = 0; k < wide; ++k) {
          TRY_VOID(to_float(*w2, first + int64_t{k} * hidden + column, out.subspan(static_cast<size_t>(k), 1)));
        }
        return {};
      };
      PackedLinear packed_up = TRY(packer_.linear(up));
      PackedLinear packed_down = TRY(packer_.linear(down));
      experts.push_back({std::move(packed_up), std::move(packed_down)});
    }
    const TensorView* const router = TRY(weights_.require(prefix + "router.layer.weight", {t.experts, hidden}));
    std::vector<float> routes(static_cast<size_t>(t.experts) * static_cast<size_t>(hidden));
    TRY_VOID(to_float(*router, 0, routes));
    std::vector<float> bias = TRY(packer_.vector(prefix + "experts.bias", hidden));
    return std::make_unique<Experts>(std::move(experts), std::move(routes), std::move(bias), t.experts_used,
                                     config_.activation);
  }

  const EncoderConfig& config_;
  const WeightPacker& packer_;
  const NamedWeights& weights_;
  Names names_;
};

// Where the low-rank additions of the embeddings are, the plain table has another name.
std::string table_name(const NamedWeights& weights, const std::string& name) {
  const std::string original = name + ".parametrizations.weight.original";
  return weights.store().contains(weights.full_name(original)) ? original : name + ".weight";
}

Result<NamedWeights> match_embeddings(const WeightStore& store) {
  const std::string name = "embeddings.word_embeddings";
  Result<NamedWeights> plain = NamedWeights::match(store, name + ".weight");
  if (plain) return plain;
  Result<NamedWeights> original = NamedWeights::match(store, name + ".parametrizations.weight.original");
  return original ? std::move(original) : std::move(plain);
}

}  // namespace

Result<std::unique_ptr<Encoder>> load_rotary_bert(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                                  Team& team) {
  const NamedWeights weights = TRY(match_embeddings(store));
  const WeightPacker packer(weights, plan, team);
  const RotaryBertLoader loader(config, weights, packer);
  const std::string words = table_name(weights, "embeddings.word_embeddings");
  const std::string types = table_name(weights, "embeddings.token_type_embeddings");
  TransformerParts parts;
  parts.words = TRY(packer.table(words, config.vocab_size, config.hidden_size));
  if (config.token_types > 0) parts.types = TRY(packer.table(types, config.token_types, config.hidden_size));
  parts.word_additions = TRY(load_added_rows(config, weights, "embeddings.word_embeddings", config.vocab_size));
  parts.type_additions = TRY(load_added_rows(config, weights, "embeddings.token_type_embeddings", config.token_types));
  parts.embedding_norm = TRY(loader.embedding_norm());
  for (int i = 0; i < config.layers; ++i) parts.layers.push_back(TRY(loader.layer(i)));
  return make_transformer(config, plan.compute, std::move(parts));
}

}  // namespace inlay
