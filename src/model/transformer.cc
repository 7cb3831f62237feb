#include "model/transformer.h"

#include <algorithm>

#include "model/feed_forward.h"

namespace inlay {
namespace {

class Transformer final : public Encoder {
 public:
  Transformer(const EncoderConfig& config, const ComputePlan& plan, TransformerParts parts);

  EncoderSizes sizes() const override;
  void forward(const Share& share, const PackedBatch& batch, Workspace& workspace) const override;
  double flop(std::span<const int> lengths) const override;
  EncoderMemory memory() const override;

 private:
  using Layer = TransformerLayer;
  bool is_rotary() const { return t_.rope.has_value(); }
  bool changes_qkv() const { return is_rotary() || parts_.layers.front().query_norm.exists(); }
  bool adds_twice() const { return parts_.layers.front().second_sum.exists(); }
  bool is_disentangled() const { return parts_.layers.front().disentangled != nullptr; }
  AttentionKind attention_kind() const {
    if (is_disentangled()) return AttentionKind::kF32;
    return changes_qkv() ? plan_.attention_of_changed : plan_.attention;
  }
  EncoderSizes::Qkv qkv_form() const {
    if (is_disentangled()) return EncoderSizes::Qkv::kFloat;
    return changes_qkv() ? EncoderSizes::Qkv::kFloatFirst : EncoderSizes::Qkv::kAsMultiplied;
  }
  const RopeTable* rope_of(const Layer& layer) const {
    return layer.is_local && local_rope_ != nullptr ? local_rope_.get() : rope_.get();
  }
  void embed(const Share& share, const PackedBatch& batch, Workspace& workspace) const;
  void embed_text(const Share::Range& part, std::span<const int32_t> ids, std::span<const int32_t> types, Floats x) const;
  Operand enter(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const;
  void leave(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const;
  void attend(const Share& share, const PackedBatch& batch, const Layer& layer, Workspace& workspace) const;
  void turn(const Share& share, const PackedBatch& batch, const Layer& layer, Workspace& workspace) const;
  void keep(const Share& share, int tokens, Workspace& workspace) const;
  void add_kept(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const;
  void normalise_heads(const NormWeights& norm, int heads, float* x) const;
  void turn_row(const Layer& layer, const float* angles, int half, float* row) const;
  Operand run_attention(const Share& share, const PackedBatch& batch, const Layer& layer, Workspace& workspace) const;
  void feed(const Share& share, int tokens, const Layer& layer, Workspace& workspace) const;

  EncoderConfig config_;
  TransformerConfig t_;  // of config_, all fallbacks filled in
  ComputePlan plan_;
  TransformerParts parts_;
  std::unique_ptr<RopeTable> rope_, local_rope_;
};

Transformer::Transformer(const EncoderConfig& config, const ComputePlan& plan, TransformerParts parts)
    : config_(config), t_(config.transformer), plan_(plan), parts_(std::move(parts)) {
  if (t_.head_dim == 0) t_.head_dim = config.hidden_size / config.heads;
  if (t_.kv_heads == 0) t_.kv_heads = config.heads;
  if (t_.rotary == 0) t_.rotary = t_.head_dim;
  if (t_.rope) rope_ = std::make_unique<RopeTable>(*t_.rope, t_.rotary, config.max_positions);
  if (t_.local_rope) local_rope_ = std::make_unique<RopeTable>(*t_.local_rope, t_.rotary, config.max_positions);
}

EncoderSizes Transformer::sizes() const {
  return {.hidden_size = config_.hidden_size,
          .heads = config_.heads,
          .intermediate_size = config_.intermediate_size,
          .kv_heads = t_.kv_heads,
          .head_dim = t_.head_dim,
          .is_gated = t_.is_gated,
          .is_pre_norm = parts_.layers.front().feed_input.exists() || adds_twice(),
          .qkv = qkv_form()};
}

void Transformer::forward(const Share& share, const PackedBatch& batch, Workspace& workspace) const {
  int longest = 0;
  for (int text = 0; text < batch.texts(); ++text) longest = std::max(longest, batch.starts[text + 1] - batch.starts[text]);
  for (const RopeTable* table : {rope_.get(), local_rope_.get()}) {
    if (table != nullptr) table->grow(longest);
  }
  const int tokens = batch.tokens();
  embed(share, batch, workspace);
  share.sync();
  leave(share, parts_.embedding_norm, tokens, workspace);
  for (const Layer& layer : parts_.layers) {
    attend(share, batch, layer, workspace);
    feed(share, tokens, layer, workspace);
  }
  leave(share, parts_.final_norm, tokens, workspace);
  share.sync();
}

void Transformer::embed(const Share& share, const PackedBatch& batch, Workspace& workspace) const {
  for (int text = 0; text < batch.texts(); ++text) {
    const int begin = batch.starts[text];
    const int length = batch.starts[text + 1] - begin;
    const Floats x = {workspace.hidden().row(begin), workspace.hidden().stride};
    embed_text(share.part_of(length), std::span(batch.ids).subspan(begin, length),
               std::span(batch.type_ids).subspan(begin, length), x);
  }
}

void Transformer::embed_text(const Share::Range& part, std::span<const int32_t> ids, std::span<const int32_t> types,
                             Floats x) const {
  int counted = 0;  // ids so far that are no padding
  for (int i = 0; i < part.end; ++i) {
    const bool is_pad = t_.position_pad && ids[i] == *t_.position_pad;
    if (!is_pad) ++counted;
    if (i < part.begin) continue;
    float* row = x.row(i);
    parts_.words.set_row(ids[i], row);
    if (t_.embedding_scale != 1) {
      for (int c = 0; c < config_.hidden_size; ++c) row[c] *= t_.embedding_scale;
    }
    parts_.word_additions.add_to(ids[i], config_.hidden_size, row);
    if (parts_.types) parts_.types->add_row(types[i], row);
    parts_.type_additions.add_to(types[i], config_.hidden_size, row);
    if (!parts_.positions) continue;
    parts_.positions->add_row(!t_.position_pad ? i : *t_.position_pad + (is_pad ? 0 : counted), row);
  }
}

// What a block reads: the hidden states, normalised in pre-norm encoders, in the form that products read.
Operand Transformer::enter(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const {
  const Kernels& kernels = *plan_.kernels;
  const Floats x = norm.exists() ? workspace.normed() : workspace.hidden();
  const Operand operand = norm.exists() ? workspace.normed_operand() : workspace.hidden_operand();
  if (norm.exists()) normalise(kernels, share, norm, workspace.hidden(), x, tokens);
  prepare(kernels, share, {plan_.format, x, tokens, config_.hidden_size, operand});
  share.sync();
  return operand;
}

// The norm of the hidden states at the end of a block. What follows takes the same rows to the same threads.
void Transformer::leave(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const {
  if (norm.exists()) normalise(*plan_.kernels, share, norm, workspace.hidden(), workspace.hidden(), tokens);
}

void Transformer::attend(const Share& share, const PackedBatch& batch, const Layer& layer, Workspace& workspace) const {
  const Kernels& kernels = *plan_.kernels;
  const int tokens = batch.tokens();
  if (layer.second_sum.exists()) keep(share, tokens, workspace);
  const Operand input = enter(share, layer.attention_input, tokens, workspace);
  linear(kernels, share,
         {.weights = layer.qkv,
          .input = input,
          .rows = tokens,
          .output = workspace.qkv(),
          .output_stride = workspace.qkv_stride(),
          .output_is_bf16 = attention_kind() != AttentionKind::kF32 && !changes_qkv()});
  share.sync();
  if (changes_qkv()) {
    turn(share, batch, layer, workspace);
    share.sync();
  }
  const Operand context = run_attention(share, batch, layer, workspace);
  add_product(kernels, share,
              {.weights = layer.output, .result_norm = layer.attention_result, .input = context, .begin = 0, .rows = tokens},
              workspace);
  leave(share, layer.attention_sum, tokens, workspace);
  if (layer.second_sum.exists()) add_kept(share, layer.second_sum, tokens, workspace);
}

// What the block reads, in the memory that pre-norm encoders have for other things.
void Transformer::keep(const Share& share, int tokens, Workspace& workspace) const {
  const Share::Range part = share.part_of(tokens);
  for (int row = part.begin; row < part.end; ++row) {
    std::copy_n(workspace.hidden().row(row), config_.hidden_size, workspace.normed().row(row));
  }
}

void Transformer::add_kept(const Share& share, const NormWeights& norm, int tokens, Workspace& workspace) const {
  const Share::Range part = share.part_of(tokens);
  for (int row = part.begin; row < part.end; ++row) {
    const float* kept = workspace.normed().row(row);
    float* x = workspace.hidden().row(row);
    for (int c = 0; c < config_.hidden_size; ++c) x[c] += kept[c];
  }
  leave(share, norm, tokens, workspace);
}

// Norms and rotary positions of queries and keys, and q, k and v in the form that attention reads.
void Transformer::turn(const Share& share, const PackedBatch& batch, const Layer& layer, Workspace& workspace) const {
  const RopeTable* rope = is_rotary() ? rope_of(layer) : nullptr;
  const int half = rope == nullptr ? 0 : rope->half();
  const Floats qkv = workspace.qkv_floats();
  std::vector<float> own_frequencies, own_angles(static_cast<size_t>(2 * half));
  for (int text = 0; text < batch.texts(); ++text) {
    const int begin = batch.starts[text];
    const int length = batch.starts[text + 1] - begin;
    const bool is_own = rope != nullptr && rope->depends_on(length);
    if (is_own) own_frequencies = rope->frequencies(length);
    const Share::Range part = share.part_of(length);
    for (int position = part.begin; position < part.end; ++position) {
      const float* angles = nullptr;
      if (is_own) {
        rope->compute(own_frequencies, position, own_angles.data());
        angles = own_angles.data();
      } else if (rope != nullptr) {
        angles = rope->row(position);
      }
      turn_row(layer, angles, half, qkv.row(begin + position));
    }
    if (workspace.narrow_qkv() == nullptr) continue;
    ConvertArgs args;
    args.x = qkv.row(begin + part.begin);
    args.x_stride = qkv.stride;
    args.y = workspace.narrow_qkv() + (begin + part.begin) * qkv.stride;
    args.y_stride = qkv.stride;
    args.rows = part.end - part.begin;
    args.columns = layer.qkv.shape().columns;
    args.padded = static_cast<int>(qkv.stride);
    plan_.kernels->to_bf16(args);
  }
}

void Transformer::normalise_heads(const NormWeights& norm, int heads, float* x) const {
  const int columns = heads * t_.head_dim;
  if (norm.is_rms) {
    RmsNormArgs args;
    args.x = args.y = x;
    args.x_stride = args.y_stride = t_.head_dim;
    args.gamma = norm.gamma.as<float>();
    args.rows = heads;
    args.columns = args.padded = t_.head_dim;
    args.eps = norm.eps;
    plan_.kernels->rms_norm(args);
    return;
  }
  // A layer norm writes whole vectors, and other numbers follow these.
  std::vector<float> row(round_up(static_cast<size_t>(columns), 64));
  std::copy_n(x, columns, row.begin());
  plan_.kernels->layer_norm({row.data(), row.data(), static_cast<int64_t>(row.size()), norm.gamma.as<float>(),
                             norm.beta.as<float>(), 1, columns, norm.eps});
  std::copy_n(row.begin(), columns, x);
}

void Transformer::turn_row(const Layer& layer, const float* angles, int half, float* row) const {
  float* keys = row + static_cast<int64_t>(config_.heads) * t_.head_dim;
  if (layer.query_norm.exists()) {
    normalise_heads(layer.query_norm, config_.heads, row);
    normalise_heads(layer.key_norm, t_.kv_heads, keys);
  }
  if (angles == nullptr) return;
  plan_.kernels->rotate({row, t_.head_dim, config_.heads + t_.kv_heads, half, angles, angles + half});
}

// Ends with a meeting of the team.
Operand Transformer::run_attention(const Share& share, const PackedBatch& batch, const Layer& layer,
                                   Workspace& workspace) const {
  const Kernels& kernels = *plan_.kernels;
  const Sight sight = layer.is_local ? t_.local_sight : t_.sight;
  const bool direct = attention_kind() == AttentionKind::kBF16 && plan_.format == Format::kBF16;
  const Operand context = workspace.context_operand();
  AttentionOp op;
  op.qkv = workspace.narrow_qkv() != nullptr ? workspace.narrow_qkv() : workspace.qkv();
  op.stride = workspace.qkv_stride();
  op.kind = attention_kind();
  op.out = direct ? context.data : workspace.context().data;
  op.out_stride = direct ? context.stride : workspace.context().stride;
  op.out_is_bf16 = direct;
  op.starts = batch.starts;
  op.keys = batch.keys;
  op.heads = config_.heads;
  op.kv_heads = t_.kv_heads;
  op.head_dim = t_.head_dim;
  op.scale = t_.scale;
  op.left = sight.left;
  op.right = sight.right;
  if (parts_.bias.exists()) {
    op.bias = parts_.bias.centre();
    op.bias_head_stride = parts_.bias.head_stride();
  }
  op.scratch = workspace.attention_scratch(share.rank);
  if (layer.disentangled != nullptr)
    layer.disentangled->run(kernels, share, op);
  else
    attention(kernels, share, op);
  share.sync();
  if (direct) return context;
  prepare(kernels, share, {plan_.format, workspace.context(), batch.tokens(), config_.heads * t_.head_dim, context});
  share.sync();
  return context;
}

void Transformer::feed(const Share& share, int tokens, const Layer& layer, Workspace& workspace) const {
  const Operand input = enter(share, layer.feed_input, tokens, workspace);
  if (layer.experts != nullptr) {
    layer.experts->add(plan_, share, {input, workspace.hidden(), tokens});
    share.sync();
  } else {
    const FeedForward block = {.up = layer.up,
                               .down = layer.down,
                               .result_norm = layer.feed_result,
                               .activation = config_.activation,
                               .is_gated = t_.is_gated,
                               .activates_first = t_.activates_first};
    feed_forward(plan_, share, block, {input, tokens}, workspace);
  }
  leave(share, layer.feed_sum, tokens, workspace);
}

double Transformer::flop(std::span<const int> lengths) const {
  double total = 0;
  for (const int length : lengths) {
    for (const Layer& layer : parts_.layers) {
      const auto products = [](const PackedLinear& linear) { return 2.0 * linear.shape().columns * linear.shape().k; };
      const Sight sight = layer.is_local ? t_.local_sight : t_.sight;
      const double seen = std::min<double>(length, 1.0 + std::min(sight.left, length) + std::min(sight.right, length));
      double per_token = products(layer.qkv) + products(layer.output) + 4.0 * config_.heads * t_.head_dim * seen;
      if (layer.disentangled != nullptr) per_token += layer.disentangled->flop_per_token(length);
      per_token += layer.experts != nullptr ? layer.experts->flop_per_token() : products(layer.up) + products(layer.down);
      total += per_token * length;
    }
  }
  return total;
}

EncoderMemory Transformer::memory() const {
  EncoderMemory memory;
  memory.tables.add(parts_.words);
  for (const LowRankRows* rows : {&parts_.word_additions, &parts_.type_additions}) {
    memory.tables.own += (rows->rows.size() + rows->columns.size()) * sizeof(float);
  }
  for (const std::optional<EmbeddingTable>* table : {&parts_.positions, &parts_.types}) {
    if (*table) memory.tables.add(**table);
  }
  for (const Layer& layer : parts_.layers) {
    for (const PackedLinear* linear : {&layer.qkv, &layer.output, &layer.up, &layer.down}) memory.linear.add(*linear);
    if (layer.experts != nullptr) layer.experts->count(memory.linear);
    if (layer.disentangled != nullptr) layer.disentangled->count(memory.linear);
  }
  return memory;
}

}  // namespace

void LowRankRows::add_to(int id, int hidden, float* out) const {
  if (rows.empty()) return;
  for (int r = 0; r < rank; ++r) {
    const float factor = scale * rows[static_cast<size_t>(int64_t{id} * rank + r)];
    const float* column = columns.data() + int64_t{r} * hidden;
    for (int c = 0; c < hidden; ++c) out[c] += factor * column[c];
  }
}

std::unique_ptr<Encoder> make_transformer(const EncoderConfig& config, const ComputePlan& plan, TransformerParts parts) {
  return std::make_unique<Transformer>(config, plan, std::move(parts));
}

}  // namespace inlay
