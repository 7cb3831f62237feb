// x = LN(word[id] + type[tt] + position[p]); for each layer: x = LN(x + Wo attention(Wqkv x)); x = LN(x + W2 act(W1 x)).
// Source: Devlin et al. 2018 and transformers' BertModel, whose order of the embedding sum is kept.
#include "model/bert.h"

#include <algorithm>
#include <array>
#include <string>

#include "backend/embedding_table.h"
#include "weights/named_weights.h"

namespace inlay {
namespace {

struct BertLayer {
  PackedLinear qkv;     // [3 * hidden, hidden]: query, key and value in one product
  PackedLinear output;  // [hidden, hidden]
  NormWeights attention_norm;
  PackedLinear up;    // [intermediate, hidden]
  PackedLinear down;  // [hidden, intermediate]
  NormWeights feed_norm;
};

struct BertTables {
  EmbeddingTable words;
  EmbeddingTable positions;
  EmbeddingTable types;
  NormWeights norm;
};

class Bert final : public Encoder {
 public:
  Bert(const EncoderConfig& config, const ComputePlan& plan, BertTables tables, std::vector<BertLayer> layers)
      : config_(config), plan_(plan), tables_(std::move(tables)), layers_(std::move(layers)) {}

  EncoderSizes sizes() const override { return {config_.hidden_size, config_.heads, config_.intermediate_size}; }

  void forward(const Share& share, const PackedBatch& batch, Workspace& workspace) const override {
    embed(share, batch, workspace);
    for (const BertLayer& layer : layers_) {
      attend(share, batch, layer, workspace);
      feed_forward(share, batch.tokens(), layer, workspace);
    }
  }

  double flop(std::span<const int> lengths) const override;
  uint64_t weight_bytes() const override;

 private:
  void embed(const Share& share, const PackedBatch& batch, Workspace& workspace) const;
  void attend(const Share& share, const PackedBatch& batch, const BertLayer& layer, Workspace& workspace) const;
  void feed_forward(const Share& share, int tokens, const BertLayer& layer, Workspace& workspace) const;
  void finish_block(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const;

  EncoderConfig config_;
  ComputePlan plan_;
  BertTables tables_;
  std::vector<BertLayer> layers_;
};

void Bert::embed(const Share& share, const PackedBatch& batch, Workspace& workspace) const {
  const Floats x = workspace.hidden();
  for (int text = 0; text < batch.texts(); ++text) {
    const int begin = batch.starts[text];
    const Share::Range part = share.part_of(batch.starts[text + 1] - begin);
    for (int position = part.begin; position < part.end; ++position) {
      float* row = x.row(begin + position);
      tables_.words.set_row(batch.ids[begin + position], row);
      tables_.types.add_row(batch.type_ids[begin + position], row);
      tables_.positions.add_row(position, row);
    }
  }
  share.sync();
  finish_block(share, tables_.norm, batch.tokens(), workspace);
}

// The norm at the end of a block, and its result in the form that the next product reads.
void Bert::finish_block(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const {
  layer_norm(*plan_.kernels, share, norm, workspace.hidden(), tokens);
  prepare(*plan_.kernels, share, {plan_.format, workspace.hidden(), tokens, config_.hidden_size, workspace.hidden_operand()});
  share.sync();
}

void Bert::attend(const Share& share, const PackedBatch& batch, const BertLayer& layer, Workspace& workspace) const {
  const Kernels& kernels = *plan_.kernels;
  const int tokens = batch.tokens();
  linear(kernels, share,
         {.weights = layer.qkv,
          .input = workspace.hidden_operand(),
          .rows = tokens,
          .output = workspace.qkv(),
          .output_stride = workspace.qkv_stride(),
          .output_is_bf16 = plan_.bf16_attention});
  share.sync();
  // bf16 products read bf16, so attention writes it at once; int8 ones need a whole row to find its scale.
  const bool direct = plan_.bf16_attention && plan_.format == Format::kBF16;
  const Operand context = workspace.context_operand();
  attention(kernels, share,
            {.qkv = workspace.qkv(),
             .stride = workspace.qkv_stride(),
             .is_bf16 = plan_.bf16_attention,
             .out = direct ? context.data : workspace.context().data,
             .out_stride = direct ? context.stride : workspace.context().stride,
             .out_is_bf16 = direct,
             .starts = batch.starts,
             .heads = config_.heads,
             .head_dim = config_.hidden_size / config_.heads,
             .scratch = workspace.attention_scratch(share.rank)});
  share.sync();
  if (!direct) {
    prepare(kernels, share, {plan_.format, workspace.context(), tokens, config_.hidden_size, context});
    share.sync();
  }
  const Floats x = workspace.hidden();
  linear(
      kernels, share,
      {.weights = layer.output, .input = context, .rows = tokens, .residual = &x, .output = x.data, .output_stride = x.stride});
  share.sync();
  finish_block(share, layer.attention_norm, tokens, workspace);
}

void Bert::feed_forward(const Share& share, int tokens, const BertLayer& layer, Workspace& workspace) const {
  const Kernels& kernels = *plan_.kernels;
  const bool direct = plan_.format == Format::kBF16;
  const int64_t operand_bytes = kernels.panel(plan_.format).activation_bytes;
  const Operand wide = workspace.feed_operand();
  const Floats feed = workspace.feed();
  for (int begin = 0; begin < tokens; begin += Workspace::kFeedRows) {
    const int rows = std::min(Workspace::kFeedRows, tokens - begin);
    Operand input = workspace.hidden_operand();
    input.data = static_cast<char*>(input.data) + begin * input.stride * operand_bytes;
    if (input.scale != nullptr) input.scale += begin;
    if (input.minimum != nullptr) input.minimum += begin;
    linear(kernels, share,
           {.weights = layer.up,
            .input = input,
            .rows = rows,
            .activation = config_.activation,
            .output = direct ? wide.data : feed.data,
            .output_stride = feed.stride,
            .output_is_bf16 = direct});
    share.sync();
    if (!direct) {
      prepare(kernels, share, {plan_.format, feed, rows, config_.intermediate_size, wide});
      if (plan_.format == Format::kI8) share.sync();
    }
    const Floats x = {workspace.hidden().row(begin), workspace.hidden().stride};
    linear(kernels, share,
           {.weights = layer.down, .input = wide, .rows = rows, .residual = &x, .output = x.data, .output_stride = x.stride});
    share.sync();
  }
  finish_block(share, layer.feed_norm, tokens, workspace);
}

double Bert::flop(std::span<const int> lengths) const {
  const double hidden = config_.hidden_size;
  const double linear_per_token = 2.0 * config_.layers * hidden * (4.0 * hidden + 2.0 * config_.intermediate_size);
  const double attention_per_pair = 4.0 * config_.layers * hidden;
  double total = 0;
  for (const int length : lengths) total += length * (linear_per_token + attention_per_pair * length);
  return total;
}

uint64_t Bert::weight_bytes() const {
  uint64_t bytes = tables_.words.bytes() + tables_.positions.bytes() + tables_.types.bytes();
  for (const BertLayer& layer : layers_) {
    bytes += layer.qkv.bytes() + layer.output.bytes() + layer.up.bytes() + layer.down.bytes();
  }
  return bytes;
}

// Reads tensors of one encoder and lets their pages go.
class BertLoader {
 public:
  BertLoader(const EncoderConfig& config, const NamedWeights& weights, const LoadPlan& plan, Team& team)
      : config_(config), weights_(weights), plan_(plan), team_(team) {}

  Result<std::unique_ptr<Encoder>> load() {
    BertTables tables = {
        .words = TRY(table("embeddings.word_embeddings.weight", config_.vocab_size)),
        .positions = TRY(table("embeddings.position_embeddings.weight", config_.max_positions)),
        .types = TRY(table("embeddings.token_type_embeddings.weight", config_.token_types)),
        .norm = TRY(norm("embeddings.LayerNorm")),
    };
    std::vector<BertLayer> layers;
    for (int i = 0; i < config_.layers; ++i) layers.push_back(TRY(layer(fmt::format("encoder.layer.{}.", i))));
    return std::make_unique<Bert>(config_, plan_.compute, std::move(tables), std::move(layers));
  }

 private:
  Result<BertLayer> layer(const std::string& prefix) {
    const int hidden = config_.hidden_size;
    const std::string self = prefix + "attention.self.";
    return BertLayer{
        .qkv = TRY(stacked({self + "query", self + "key", self + "value"}, hidden, hidden)),
        .output = TRY(stacked({prefix + "attention.output.dense"}, hidden, hidden)),
        .attention_norm = TRY(norm(prefix + "attention.output.LayerNorm")),
        .up = TRY(stacked({prefix + "intermediate.dense"}, config_.intermediate_size, hidden)),
        .down = TRY(stacked({prefix + "output.dense"}, hidden, config_.intermediate_size)),
        .feed_norm = TRY(norm(prefix + "output.LayerNorm")),
    };
  }

  Result<std::vector<float>> vector(const std::string& name, int size) {
    const TensorView* tensor = TRY(weights_.require(name, {size}));
    std::vector<float> values(size);
    TRY_VOID(to_float(*tensor, 0, values));
    return values;
  }

  Result<NormWeights> norm(const std::string& name) {
    const std::vector<float> gamma = TRY(vector(name + ".weight", config_.hidden_size));
    const std::vector<float> beta = TRY(vector(name + ".bias", config_.hidden_size));
    return NormWeights(gamma, beta, config_.layer_norm_eps);
  }

  Result<EmbeddingTable> table(const std::string& name, int rows) {
    const TensorView* tensor = TRY(weights_.require(name, {rows, config_.hidden_size}));
    EmbeddingTable result = TRY(EmbeddingTable::make(*tensor, plan_.tables).map_error(within(weights_.full_name(name))));
    if (!result.uses_source()) weights_.store().release(weights_.full_name(name));
    return result;
  }

  // Linear layers of the same input as one: their output features follow one another.
  Result<PackedLinear> stacked(const std::vector<std::string>& names, int columns, int k) {
    std::vector<const TensorView*> tensors;
    std::vector<float> bias;
    for (const std::string& name : names) {
      tensors.push_back(TRY(weights_.require(name + ".weight", {columns, k})));
      const std::vector<float> part = TRY(vector(name + ".bias", columns));
      bias.insert(bias.end(), part.begin(), part.end());
    }
    const PackedLinear::RowSource row = [&](int column, std::span<float> out) {
      return to_float(*tensors[column / columns], static_cast<int64_t>(column % columns) * k, out);
    };
    const int total = columns * static_cast<int>(names.size());
    PackedLinear packed = TRY(PackedLinear::pack(*plan_.compute.kernels, plan_.compute.format, total, k, row, bias, team_)
                                  .map_error(within(weights_.full_name(names.front() + ".weight"))));
    for (const std::string& name : names) weights_.store().release(weights_.full_name(name + ".weight"));
    return packed;
  }

  const EncoderConfig& config_;
  const NamedWeights& weights_;
  const LoadPlan& plan_;
  Team& team_;
};

}  // namespace

Result<std::unique_ptr<Encoder>> load_bert(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                           Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embeddings.word_embeddings.weight"));
  return BertLoader(config, weights, plan, team).load();
}

}  // namespace inlay
