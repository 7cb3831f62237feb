// x = LN(word[id] + type[tt] + position[p]); for each layer: x = LN(x + Wo attention(Wqkv x)); x = LN(x + W2 act(W1 x)).
// Source: Devlin et al. 2018 and transformers' BertModel, whose order of the embedding sum is kept.
#include "model/bert.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/weight_packer.h"

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
  EncoderMemory memory() const override;

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
  const Operand wide = workspace.feed_operand();
  const Floats feed = workspace.feed();
  for (int begin = 0; begin < tokens; begin += Workspace::kFeedRows) {
    const int rows = std::min(Workspace::kFeedRows, tokens - begin);
    const Operand input = workspace.hidden_operand().from_row(kernels, plan_.format, begin);
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
      if (takes_codes(plan_.format)) share.sync();
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

EncoderMemory Bert::memory() const {
  EncoderMemory memory;
  for (const EmbeddingTable* table : {&tables_.words, &tables_.positions, &tables_.types}) memory.tables.add(*table);
  for (const BertLayer& layer : layers_) {
    for (const PackedLinear* linear : {&layer.qkv, &layer.output, &layer.up, &layer.down}) memory.linear.add(*linear);
  }
  return memory;
}

Result<BertLayer> load_layer(const EncoderConfig& config, const WeightPacker& packer, const std::string& prefix) {
  const int hidden = config.hidden_size;
  const std::string self = prefix + "attention.self.";
  return BertLayer{
      .qkv = TRY(packer.linear({self + "query", self + "key", self + "value"}, hidden, hidden)),
      .output = TRY(packer.linear({prefix + "attention.output.dense"}, hidden, hidden)),
      .attention_norm = TRY(packer.norm(prefix + "attention.output.LayerNorm", hidden, config.layer_norm_eps)),
      .up = TRY(packer.linear({prefix + "intermediate.dense"}, config.intermediate_size, hidden)),
      .down = TRY(packer.linear({prefix + "output.dense"}, hidden, config.intermediate_size)),
      .feed_norm = TRY(packer.norm(prefix + "output.LayerNorm", hidden, config.layer_norm_eps)),
  };
}

}  // namespace

Result<std::unique_ptr<Encoder>> load_bert(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                           Team& team) {
  const NamedWeights weights = TRY(NamedWeights::match(store, "embeddings.word_embeddings.weight"));
  const WeightPacker packer(weights, plan, team);
  const int hidden = config.hidden_size;
  BertTables tables = {
      .words = TRY(packer.table("embeddings.word_embeddings.weight", config.vocab_size, hidden)),
      .positions = TRY(packer.table("embeddings.position_embeddings.weight", config.max_positions, hidden)),
      .types = TRY(packer.table("embeddings.token_type_embeddings.weight", config.token_types, hidden)),
      .norm = TRY(packer.norm("embeddings.LayerNorm", hidden, config.layer_norm_eps)),
  };
  std::vector<BertLayer> layers;
  for (int i = 0; i < config.layers; ++i)
    layers.push_back(TRY(load_layer(config, packer, fmt::format("encoder.layer.{}.", i))));
  return std::make_unique<Bert>(config, plan.compute, std::move(tables), std::move(layers));
}

}  // namespace inlay
