// The vocabulary is cut into parts whose logits for a block of tokens stay in the cache: a text's weights need only the largest
// logit (or a sum) over its tokens, so logits of the whole vocabulary never exist. Threads take parts by turns.
#include "model/sparse_head.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/coded_source.h"

namespace inlay {
namespace {

constexpr int kPartWords = 3072;  // 64 rows of logits are 786 KB
constexpr int kBlockRows = 64;

struct SparseLayout {
  std::string_view model_type;
  std::string_view dense;
  std::optional<Activation> activation;  // none: as config.json says
  std::string_view norm;
  std::string_view decoder;  // its weight may be missing: then it is the table of word embeddings
  std::array<std::string_view, 2> biases;
};

constexpr std::array<SparseLayout, 9> kSparseLayouts = {{
    {"bert",
     "cls.predictions.transform.dense",
     std::nullopt,
     "cls.predictions.transform.LayerNorm",
     "cls.predictions.decoder.weight",
     {"cls.predictions.bias", "cls.predictions.decoder.bias"}},
    {"roberta",
     "lm_head.dense",
     Activation::kGelu,
     "lm_head.layer_norm",
     "lm_head.decoder.weight",
     {"lm_head.bias", "lm_head.decoder.bias"}},
    {"xlm-roberta",
     "lm_head.dense",
     Activation::kGelu,
     "lm_head.layer_norm",
     "lm_head.decoder.weight",
     {"lm_head.bias", "lm_head.decoder.bias"}},
    {"mpnet",
     "lm_head.dense",
     Activation::kGelu,
     "lm_head.layer_norm",
     "lm_head.decoder.weight",
     {"lm_head.bias", "lm_head.decoder.bias"}},
    {"modernbert", "head.dense", Activation::kGelu, "head.norm", "decoder.weight", {"decoder.bias", "decoder.bias"}},
    {"camembert",
     "lm_head.dense",
     Activation::kGelu,
     "lm_head.layer_norm",
     "lm_head.decoder.weight",
     {"lm_head.bias", "lm_head.decoder.bias"}},
    {"distilbert",
     "vocab_transform",
     std::nullopt,
     "vocab_layer_norm",
     "vocab_projector.weight",
     {"vocab_projector.bias", "vocab_projector.bias"}},
    {"electra",
     "generator_predictions.dense",
     Activation::kGelu,
     "generator_predictions.LayerNorm",
     "generator_lm_head.weight",
     {"generator_lm_head.bias", "generator_lm_head.bias"}},
    {"albert",
     "predictions.dense",
     std::nullopt,
     "predictions.LayerNorm",
     "predictions.decoder.weight",
     {"predictions.bias", "predictions.decoder.bias"}},
}};

Result<const SparseLayout*> layout_of(const std::string& model_type) {
  for (const SparseLayout& layout : kSparseLayouts) {
    if (layout.model_type == model_type) return &layout;
  }
  return fail(ErrorCode::kUnsupported, "config.json: model_type: sparse vectors of '{}' are not served", model_type);
}

int64_t row_stride(const ComputePlan& plan, int columns) {
  const size_t panel = static_cast<size_t>(plan.kernels->panel(plan.format).panel_columns);
  return static_cast<int64_t>(round_up(round_up(static_cast<size_t>(columns), panel), 64));
}

// Rows [begin, begin + columns) of `matrix` [.., k], with their biases.
struct MatrixPart {
  const TensorView& matrix;
  int k;
  int begin;
  int columns;
};
Result<PackedLinear> pack_part(const MatrixPart& part, std::span<const float> bias, const LoadPlan& plan, Team& team) {
  // Output feature 0 of the part is row `begin` of the matrix.
  const std::vector<LinearRows> rows = {{&part.matrix, -part.begin, part.columns}};
  const Format format = format_for(plan, rows);
  const LinearSource source = linear_source(rows, part.k, format);
  const PackedShape shape = PackedLinear::shape_for(*plan.compute.kernels, format, part.columns, part.k, source);
  return PackedLinear::pack(*plan.compute.kernels, format, shape, source, bias, team);
}

}  // namespace

size_t SparseMemory::bytes() const {
  size_t sum = rows.size() + codes.size() + scale.size() + minimum.size() + token_weights.capacity() * sizeof(float);
  for (const Buffer& buffer : logits) sum += buffer.size();
  for (const std::vector<float>& values : best) sum += values.capacity() * sizeof(float);
  for (const Part& part : parts) sum += part.weights.capacity() * sizeof(SparseWeight);
  return sum;
}

Result<SparseHead> SparseHead::load(const ModelSpec& spec, const HeadWeights& weights, const LoadPlan& plan, Team& team) {
  SparseHead head;
  head.plan_ = plan.compute;
  head.spec_ = *spec.sparse;
  if (head.spec_.source == SparseSpec::Source::kMaskedLm) {
    TRY_VOID(head.load_masked(spec, weights, plan, team));
  } else {
    TRY_VOID(head.load_token_weights(spec, weights));
  }
  return head;
}

Result<> SparseHead::load_masked(const ModelSpec& spec, const HeadWeights& weights, const LoadPlan& plan, Team& team) {
  const EncoderConfig& encoder = spec.encoder;
  const SparseLayout& layout = *TRY(layout_of(encoder.model_type));
  width_ = encoder.embedding_size > 0 ? encoder.embedding_size : encoder.hidden_size;
  activation_ = layout.activation.value_or(encoder.activation);
  const std::string dense(layout.dense);
  const TensorView* matrix = TRY(weights.tensor(dense + ".weight", {width_, encoder.hidden_size}));
  // ModernBERT's has biases only where its config.json asks for them.
  const bool may_lack_bias = encoder.model_type == "modernbert";
  std::vector<float> bias;
  if (!may_lack_bias || weights.contains(dense + ".bias")) bias = TRY(weights.vector(dense + ".bias", width_));
  transform_ = TRY(pack_part({*matrix, encoder.hidden_size, 0, width_}, bias, plan, team));
  norm_ = TRY(weights.norm(std::string(layout.norm), width_, encoder.layer_norm_eps, !may_lack_bias));
  const bool has_own = weights.contains(layout.decoder);
  const std::string_view table = may_lack_bias ? "embeddings.tok_embeddings.weight" : "embeddings.word_embeddings.weight";
  const std::string_view decoder = has_own ? layout.decoder : table;
  const TensorView* words = TRY(weights.tensor(decoder, {encoder.vocab_size, width_}));
  const std::string_view bias_name = weights.contains(layout.biases[0]) ? layout.biases[0] : layout.biases[1];
  const std::vector<float> word_bias = TRY(weights.vector(bias_name, encoder.vocab_size));
  for (int begin = 0; begin < encoder.vocab_size; begin += kPartWords) {
    const int count = std::min(kPartWords, encoder.vocab_size - begin);
    const std::span<const float> part_bias =
        std::span(word_bias).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
    vocabulary_.push_back(TRY(pack_part({*words, width_, begin, count}, part_bias, plan, team)));
  }
  return {};
}

Result<> SparseHead::load_token_weights(const ModelSpec& spec, const HeadWeights& weights) {
  const TensorView* weight = TRY(weights.tensor("weight", {1, spec.encoder.hidden_size}));
  token_weight_.resize(static_cast<size_t>(spec.encoder.hidden_size));
  TRY_VOID(to_float(*weight, 0, token_weight_));
  token_bias_ = TRY(weights.vector("bias", 1)).front();
  return {};
}

uint64_t SparseHead::weight_bytes() const {
  uint64_t sum = transform_.bytes() + token_weight_.size() * sizeof(float);
  for (const PackedLinear& part : vocabulary_) sum += part.bytes();
  return sum;
}

SparseMemory SparseHead::make_memory(int max_tokens, int ranks) const {
  SparseMemory memory;
  if (spec_.source == SparseSpec::Source::kTokenWeights) return memory;
  const size_t rows = static_cast<size_t>(max_tokens) + 1;
  const size_t stride = static_cast<size_t>(row_stride(plan_, width_));
  memory.rows = Buffer(rows * stride * sizeof(float));
  if (is_narrow(plan_.format)) memory.codes = Buffer(rows * stride * sizeof(uint16_t));
  if (takes_codes(plan_.format)) {
    memory.scale = Buffer(rows * sizeof(float));
    memory.minimum = Buffer(rows * sizeof(float));
  }
  const size_t logit_bytes = (kBlockRows + 1) * static_cast<size_t>(row_stride(plan_, kPartWords)) * sizeof(float);
  for (int rank = 0; rank < ranks; ++rank) {
    memory.logits.emplace_back(logit_bytes);
    memory.best.emplace_back(kPartWords);
  }
  memory.parts.resize(vocabulary_.size());
  return memory;
}

Operand SparseHead::operand(SparseMemory& memory) const {
  const int64_t stride = row_stride(plan_, width_);
  if (memory.codes.size() == 0) return {memory.rows.as<>(), stride, nullptr, nullptr};
  Operand codes = {memory.codes.as<>(), stride, memory.scale.as<float>(), memory.minimum.as<float>()};
  if (takes_codes(plan_.format)) codes.floats = {memory.rows.as<float>(), stride};
  return codes;
}

void SparseHead::forward(const Share& share, const PackedBatch& batch, Workspace& workspace, SparseMemory& memory) const {
  if (spec_.source == SparseSpec::Source::kTokenWeights) {
    if (share.rank == 0) memory.token_weights.resize(static_cast<size_t>(batch.tokens()));
    share.sync();
    return weigh_tokens(share, batch.tokens(), workspace.hidden(), memory);
  }
  transform(share, batch.tokens(), workspace, memory);
  for (size_t part = static_cast<size_t>(share.rank); part < vocabulary_.size(); part += static_cast<size_t>(share.size)) {
    weigh_part(share, batch, part, memory);
  }
}

// norm(activation(dense(hidden))), in the form that the product with the vocabulary reads.
void SparseHead::transform(const Share& share, int tokens, Workspace& workspace, SparseMemory& memory) const {
  const Kernels& kernels = *plan_.kernels;
  const int hidden_size = transform_.shape().k;
  const Floats rows = {memory.rows.as<float>(), row_stride(plan_, width_)};
  prepare(kernels, share, {plan_.format, workspace.hidden(), tokens, hidden_size, workspace.hidden_operand()});
  share.sync();
  linear(kernels, share,
         {.weights = transform_,
          .input = workspace.hidden_operand(),
          .rows = tokens,
          .activation = activation_,
          .output = rows.data,
          .output_stride = rows.stride});
  share.sync();
  layer_norm(kernels, share, norm_, rows, tokens);
  prepare(kernels, share, {plan_.format, rows, tokens, width_, operand(memory)});
  share.sync();
}

void SparseHead::weigh_part(const Share& share, const PackedBatch& batch, size_t part, SparseMemory& memory) const {
  const PackedLinear& words = vocabulary_[part];
  const int64_t stride = row_stride(plan_, kPartWords);
  const size_t count = static_cast<size_t>(words.shape().columns);
  float* const logits = memory.logits[static_cast<size_t>(share.rank)].as<float>();
  const std::span<float> best = std::span(memory.best[static_cast<size_t>(share.rank)]).first(count);
  SparseMemory::Part& result = memory.parts[part];
  result.weights.clear();
  result.ends.clear();
  std::fill(best.begin(), best.end(), 0.0F);
  for (int begin = 0; begin < batch.tokens(); begin += kBlockRows) {
    const int rows = std::min(kBlockRows, batch.tokens() - begin);
    const Operand input = operand(memory).from_row(*plan_.kernels, plan_.format, begin);
    linear(*plan_.kernels, Share{.between_blocks = share.between_blocks},
           {.weights = words,
            .input = input,
            .rows = rows,
            .activation = Activation::kRelu,
            .output = logits,
            .output_stride = stride});
    for (int row = 0; row < rows; ++row) {
      take_row({logits + row * stride, count}, best);
      if (begin + row + 1 == batch.starts[result.ends.size() + 1]) end_text(static_cast<int>(part) * kPartWords, best, result);
    }
  }
}

// Adds the logits of one token, which are 0 or more, to what is known of its text.
void SparseHead::take_row(std::span<const float> logits, std::span<float> best) const {
  if (spec_.is_sum) {
    for (size_t word = 0; word < best.size(); ++word) {
      if (logits[word] > 0) best[word] += finish(logits[word]);
    }
  } else {
    for (size_t word = 0; word < best.size(); ++word) best[word] = std::max(best[word], logits[word]);
  }
}

void SparseHead::end_text(int first_id, std::span<float> best, SparseMemory::Part& part) const {
  for (size_t word = 0; word < best.size(); ++word) {
    if (best[word] <= 0) continue;
    part.weights.push_back({first_id + static_cast<int32_t>(word), spec_.is_sum ? best[word] : finish(best[word])});
    best[word] = 0;
  }
  part.ends.push_back(part.weights.size());
}

float SparseHead::finish(float value) const {
  const float once = std::log1p(value);
  return spec_.logs_twice ? std::log1p(once) : once;
}

void SparseHead::weigh_tokens(const Share& share, int tokens, Floats hidden, SparseMemory& memory) const {
  constexpr size_t kLanes = 8;
  const Share::Range part = share.part_of(tokens);
  for (int token = part.begin; token < part.end; ++token) {
    const float* row = hidden.row(token);
    std::array<float, kLanes> sums = {};
    for (size_t c = 0; c < token_weight_.size(); ++c) sums[c % kLanes] += row[c] * token_weight_[c];
    float sum = token_bias_;
    for (const float value : sums) sum += value;
    memory.token_weights[static_cast<size_t>(token)] = std::max(sum, 0.0F);
  }
}

SparseVector SparseHead::collect(const PackedBatch& batch, int text, const SparseMemory& memory) const {
  SparseVector result;
  if (spec_.source == SparseSpec::Source::kMaskedLm) {
    for (const SparseMemory::Part& part : memory.parts) {
      const size_t begin = text == 0 ? 0 : part.ends[static_cast<size_t>(text) - 1];
      const size_t end = part.ends[static_cast<size_t>(text)];
      result.insert(result.end(), part.weights.begin() + static_cast<std::ptrdiff_t>(begin),
                    part.weights.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return result;
  }
  for (int token = batch.starts[text]; token < batch.starts[text + 1]; ++token) {
    const float weight = memory.token_weights[static_cast<size_t>(token)];
    const int32_t id = batch.ids[token];
    if (weight > 0 && std::find(left_out_.begin(), left_out_.end(), id) == left_out_.end()) result.push_back({id, weight});
  }
  // Of a word that occurs more than once the largest weight stays.
  std::sort(result.begin(), result.end(),
            [](const SparseWeight& a, const SparseWeight& b) { return a.id != b.id ? a.id < b.id : a.weight > b.weight; });
  result.erase(
      std::unique(result.begin(), result.end(), [](const SparseWeight& a, const SparseWeight& b) { return a.id == b.id; }),
      result.end());
  return result;
}

}  // namespace inlay
