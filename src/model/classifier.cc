// Every family pools in one way, has at most one hidden layer, and ends in a linear layer; only names differ.
#include "model/classifier.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/head.h"
#include "model/head_weights.h"

namespace inlay {
namespace {

struct ClassifierLayout {
  std::string_view model_type;
  std::string_view dense;                         // of the hidden layer [hidden, hidden]; "" if there is none
  Activation activation = Activation::kIdentity;  // unless config.json names one
  std::string_view output = "classifier";         // [labels, hidden]
  std::string_view norm = {};                     // after the hidden layer
  Pooling pooling = Pooling::kCls;
  bool needs_biases = true;  // else they are used where they are there
  bool needs_dense = true;   // else a checkpoint may have no hidden layer
};

constexpr std::string_view kDense = "classifier.dense";
constexpr std::string_view kOutput = "classifier.out_proj";

constexpr std::array<ClassifierLayout, 19> kClassifierLayouts = {{
    {"bert", "pooler.dense", Activation::kTanh},
    {"albert", "pooler", Activation::kTanh},
    {"distilbert", "pre_classifier", Activation::kRelu},
    {"electra", kDense, Activation::kGelu, kOutput},
    {"roberta", kDense, Activation::kTanh, kOutput},
    {"xlm-roberta", kDense, Activation::kTanh, kOutput},
    {"camembert", kDense, Activation::kTanh, kOutput},
    {"mpnet", kDense, Activation::kTanh, kOutput},
    {"jina_embeddings_v3", kDense, Activation::kTanh, kOutput},
    {"deberta-v2", "pooler.dense", Activation::kGelu},
    {"jina_bert", "pooler.dense", Activation::kTanh},
    {"nomic_bert", "pooler.dense", Activation::kTanh},
    {.model_type = "new", .dense = "pooler.dense", .activation = Activation::kTanh, .needs_dense = false},
    {.model_type = "gte", .dense = "pooler.dense", .activation = Activation::kTanh, .needs_dense = false},
    {.model_type = "modernbert",
     .dense = "head.dense",
     .activation = Activation::kGelu,
     .norm = "head.norm",
     .needs_biases = false},
    {.model_type = "qwen2", .dense = {}, .output = "score", .pooling = Pooling::kLastToken, .needs_biases = false},
    {.model_type = "qwen3", .dense = {}, .output = "score", .pooling = Pooling::kLastToken, .needs_biases = false},
    {.model_type = "llama", .dense = {}, .output = "score", .pooling = Pooling::kLastToken, .needs_biases = false},
    {.model_type = "mistral", .dense = {}, .output = "score", .pooling = Pooling::kLastToken, .needs_biases = false},
}};

Result<const ClassifierLayout*> layout_of(const std::string& model_type) {
  for (const ClassifierLayout& layout : kClassifierLayouts) {
    if (layout.model_type == model_type) return &layout;
  }
  return fail(ErrorCode::kUnsupported, "config.json: model_type: sequence classification of '{}' is not served", model_type);
}

void softmax(std::span<float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  float sum = 0;
  for (float& value : logits) sum += value = std::exp(value - most);
  for (float& value : logits) value /= sum;
}

// The difference of two rows of the language model's head, which may be the table of its words.
Result<PackedLinear> load_logit_score(const LogitScoreSpec& score, const EncoderConfig& encoder, const HeadWeights& weights) {
  const int hidden = encoder.hidden_size;
  const std::string_view name = weights.contains("lm_head.weight") ? "lm_head.weight" : "embed_tokens.weight";
  const TensorView* words = TRY(weights.tensor(name, {encoder.vocab_size, hidden}));
  std::vector<float> row(static_cast<size_t>(hidden)), other(static_cast<size_t>(hidden));
  TRY_VOID(to_float(*words, int64_t{*score.true_id} * hidden, row));
  if (score.has_false) {
    TRY_VOID(to_float(*words, int64_t{*score.false_id} * hidden, other));
    for (size_t c = 0; c < row.size(); ++c) row[c] -= other[c];
  }
  return weights.pack_row(row);
}

}  // namespace

Result<Classifier> Classifier::load(const ModelSpec& spec, const WeightStore& store, const Kernels& kernels, Team& team) {
  const ClassifierSpec& wanted = *spec.classifier;
  const HeadWeights weights(store, kernels, team);
  Classifier classifier;
  const int hidden = classifier.hidden_size_ = spec.encoder.hidden_size;
  classifier.steps_ = RowSteps(kernels, hidden);
  if (wanted.logit_score) {
    classifier.pooling_.modes = {Pooling::kLastToken};
    classifier.steps_.add_dense(TRY(load_logit_score(*wanted.logit_score, spec.encoder, weights)), Activation::kIdentity);
    return classifier;
  }
  const ClassifierLayout& layout = *TRY(layout_of(spec.encoder.model_type));
  classifier.pooling_.modes = {wanted.pools_mean ? Pooling::kMean : layout.pooling};
  if (layout.pooling == Pooling::kLastToken) classifier.padding_ = wanted.padding;
  const auto has_bias = [&](const std::string& name) { return layout.needs_biases || weights.contains(name + ".bias"); };
  const std::string dense(layout.dense);
  if (!dense.empty() && (layout.needs_dense || weights.contains(dense + ".weight"))) {
    classifier.steps_.add_dense(TRY(weights.linear(dense, hidden, hidden, has_bias(dense))),
                                wanted.hidden_activation.value_or(layout.activation));
  }
  if (!layout.norm.empty()) {
    classifier.steps_.add_norm(TRY(weights.norm(std::string(layout.norm), hidden, spec.encoder.layer_norm_eps, false)));
  }
  const std::string output(layout.output);
  const int labels = static_cast<int>(wanted.labels.size());
  classifier.steps_.add_dense(TRY(weights.linear(output, labels, hidden, has_bias(output))), Activation::kIdentity);
  return classifier;
}

void Classifier::apply(const PackedBatch& batch, Floats hidden, RowMemory& memory) const {
  const int texts = batch.texts();
  float* pooled = steps_.begin(texts, memory);
  for (int text = 0; text < texts; ++text) {
    const int begin = batch.starts[text];
    int end = batch.starts[text + 1];
    while (padding_ && end - begin > 1 && batch.ids[end - 1] == *padding_) --end;
    pool(pooling_, {hidden.row(begin), hidden.stride}, hidden_size_, end - begin, 0,
         pooled + static_cast<size_t>(text) * steps_.stride());
  }
  steps_.run(texts, memory);
}

void activate(ScoreActivation activation, std::span<float> logits) {
  switch (activation) {
    case ScoreActivation::kIdentity: return;
    case ScoreActivation::kSigmoid:
      for (float& value : logits) value = 1.0F / (1.0F + std::exp(-value));
      return;
    case ScoreActivation::kSoftmax: return softmax(logits);
  }
}

}  // namespace inlay
