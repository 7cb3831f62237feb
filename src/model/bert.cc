// x = LN(word[id] + type[tt] + position[p]); for each layer: x = LN(x + Wo attention(Wqkv x)); x = LN(x + W2 act(W1 x)).
// Source: Devlin et al. 2018 and transformers' BertModel, whose order of the embedding sum is kept. Families that keep narrow
// embeddings project them after the first norm.
#include "model/bert.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/check.h"
#include "model/bert_layout.h"
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
  std::optional<EmbeddingTable> types;
  NormWeights norm;
  std::optional<PackedLinear> projection;  // [hidden, embedding]
};

class Bert final : public Encoder {
 public:
  Bert(const EncoderConfig& config, const ComputePlan& plan, BertTables tables, std::vector<BertLayer> layers)
      : config_(config), plan_(plan), tables_(std::move(tables)), layers_(std::move(layers)) {}

  EncoderSizes sizes() const override { return {config_.hidden_size, config_.heads, config_.intermediate_size}; }

  void forward(const Share& share, const PackedBatch& batch, Workspace& workspace) const override {
    if (tables_.projection)
      embed_and_project(share, batch, workspace);
    else
      embed(share, batch, workspace);
    for (int step = 0; step < layer_steps(config_); ++step) {
      const BertLayer& layer = layers_[static_cast<size_t>(layer_of_step(config_, step))];
      attend(share, batch, layer, workspace);
      feed_forward(share, batch.tokens(), layer, workspace);
    }
  }

  double flop(std::span<const int> lengths) const override;
  EncoderMemory memory() const override;

 private:
  void look_up(const PackedBatch& batch, Share::Range tokens, Floats rows) const;
  void embed(const Share& share, const PackedBatch& batch, Workspace& workspace) const;
  void embed_and_project(const Share& share, const PackedBatch& batch, Workspace& workspace) const;
  void attend(const Share& share, const PackedBatch& batch, const BertLayer& layer, Workspace& workspace) const;
  void feed_forward(const Share& share, int tokens, const BertLayer& layer, Workspace& workspace) const;
  void finish_block(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const;

  EncoderConfig config_;
  ComputePlan plan_;
  BertTables tables_;
  std::vector<BertLayer> layers_;
};

// The sum of embeddings of tokens [begin, end) of the batch, into rows from 0.
void Bert::look_up(const PackedBatch& batch, Share::Range tokens, Floats rows) const {
  int text =
      static_cast<int>(std::upper_bound(batch.starts.begin(), batch.starts.end(), tokens.begin) - batch.starts.begin()) - 1;
  const int pad = config_.first_position > 0 ? config_.pad_token_id : -1;
  // Padding tokens that are spelt out in a text stay at the padding's position and are not counted.
  const std::vector<int32_t>& ids = batch.ids;
  int counted = static_cast<int>(
      std::count_if(ids.begin() + batch.starts[text], ids.begin() + tokens.begin, [pad](int32_t id) { return id != pad; }));
  for (int token = tokens.begin; token < tokens.end; ++token) {
    while (token >= batch.starts[text + 1]) {
      ++text;
      counted = 0;
    }
    float* row = rows.row(token - tokens.begin);
    const int32_t id = ids[token];
    tables_.words.set_row(id, row);
    if (tables_.types) tables_.types->add_row(batch.type_ids[token], row);
    tables_.positions.add_row(id == pad ? pad : config_.first_position + counted++, row);
  }
}

void Bert::embed(const Share& share, const PackedBatch& batch, Workspace& workspace) const {
  const Share::Range part = share.part_of(batch.tokens());
  if (part.begin < part.end) look_up(batch, part, {workspace.hidden().row(part.begin), workspace.hidden().stride});
  share.sync();
  finish_block(share, tables_.norm, batch.tokens(), workspace);
}

void Bert::embed_and_project(const Share& share, const PackedBatch& batch, Workspace& workspace) const {
  const Kernels& kernels = *plan_.kernels;
  const Floats rows = workspace.feed();
  const int columns = config_.embedding_size;
  for (int begin = 0; begin < batch.tokens(); begin += Workspace::kFeedRows) {
    const int count = std::min(Workspace::kFeedRows, batch.tokens() - begin);
    const Share::Range part = share.part_of(count);
    if (part.begin < part.end) look_up(batch, {begin + part.begin, begin + part.end}, {rows.row(part.begin), rows.stride});
    share.sync();
    layer_norm(kernels, share, tables_.norm, rows, count);
    prepare(kernels, share, {plan_.format, rows, count, columns, workspace.feed_operand()});
    share.sync();
    const Floats x = {workspace.hidden().row(begin), workspace.hidden().stride};
    linear(kernels, share,
           {.weights = *tables_.projection,
            .input = workspace.feed_operand(),
            .rows = count,
            .output = x.data,
            .output_stride = x.stride});
    share.sync();
  }
  prepare(kernels, share, {plan_.format, workspace.hidden(), batch.tokens(), config_.hidden_size, workspace.hidden_operand()});
  share.sync();
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
          .output_is_bf16 = plan_.attention != AttentionKind::kF32});
  share.sync();
  // bf16 products read bf16, so attention writes it at once; int8 ones need a whole row to find its scale.
  const bool direct = plan_.attention == AttentionKind::kBF16 && plan_.format == Format::kBF16;
  const Operand context = workspace.context_operand();
  attention(kernels, share,
            {.qkv = workspace.qkv(),
             .stride = workspace.qkv_stride(),
             .kind = plan_.attention,
             .out = direct ? context.data : workspace.context().data,
             .out_stride = direct ? context.stride : workspace.context().stride,
             .out_is_bf16 = direct,
             .starts = batch.starts,
             .keys = batch.keys,
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
  const double linear_per_token = 2.0 * layer_steps(config_) * hidden * (4.0 * hidden + 2.0 * config_.intermediate_size);
  const double attention_per_pair = 4.0 * layer_steps(config_) * hidden;
  double total = 0;
  for (const int length : lengths) total += length * (linear_per_token + attention_per_pair * length);
  return total;
}

EncoderMemory Bert::memory() const {
  EncoderMemory memory;
  memory.tables.add(tables_.words);
  memory.tables.add(tables_.positions);
  if (tables_.types) memory.tables.add(*tables_.types);
  if (tables_.projection) memory.linear.add(*tables_.projection);
  for (const BertLayer& layer : layers_) {
    for (const PackedLinear* linear : {&layer.qkv, &layer.output, &layer.up, &layer.down}) memory.linear.add(*linear);
  }
  return memory;
}

Result<BertLayer> load_layer(const EncoderConfig& config, const BertLayout& layout, const WeightPacker& packer,
                             const std::string& prefix) {
  const int hidden = config.hidden_size;
  const auto name = [&prefix](std::string_view part) { return prefix + std::string(part); };
  BertLayer layer;
  layer.qkv = TRY(packer.linear({name(layout.query), name(layout.key), name(layout.value)}, hidden, hidden));
  layer.output = TRY(packer.linear({name(layout.output)}, hidden, hidden));
  layer.attention_norm = TRY(packer.norm(name(layout.attention_norm), hidden, config.layer_norm_eps));
  layer.up = TRY(packer.linear({name(layout.up)}, config.intermediate_size, hidden));
  layer.down = TRY(packer.linear({name(layout.down)}, hidden, config.intermediate_size));
  layer.feed_norm = TRY(packer.norm(name(layout.feed_norm), hidden, config.layer_norm_eps));
  return layer;
}

Result<BertTables> load_tables(const EncoderConfig& config, const BertLayout& layout, const WeightPacker& packer) {
  const int columns = config.embedding_size;
  BertTables tables;
  tables.words = TRY(packer.table(std::string(layout.words), config.vocab_size, columns));
  tables.positions = TRY(packer.table(std::string(layout.positions), config.max_positions, columns));
  tables.norm = TRY(packer.norm(std::string(layout.norm), columns, config.layer_norm_eps));
  if (!layout.types.empty()) tables.types = TRY(packer.table(std::string(layout.types), config.token_types, columns));
  if (layout.always_projects || columns != config.hidden_size) {
    tables.projection = TRY(packer.linear({std::string(layout.projection)}, config.hidden_size, columns));
  }
  return tables;
}

}  // namespace

Result<std::unique_ptr<Encoder>> load_bert(const EncoderConfig& config, const WeightStore& store, const LoadPlan& plan,
                                           Team& team) {
  const BertLayout* const layout = find_bert_layout(config.model_type);
  INLAY_CHECK(layout != nullptr, "the registry names families that have a layout");
  const NamedWeights weights = TRY(NamedWeights::match(store, layout->words));
  const WeightPacker packer(weights, plan, team);
  BertTables tables = TRY(load_tables(config, *layout, packer));
  std::vector<BertLayer> layers;
  for (int i = 0; i < stored_layers(config); ++i)
    layers.push_back(TRY(load_layer(config, *layout, packer, bert_layer_prefix(*layout, config, i))));
  return std::make_unique<Bert>(config, plan.compute, std::move(tables), std::move(layers));
}

}  // namespace inlay
