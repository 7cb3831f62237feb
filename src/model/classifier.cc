// Every family pools in one way, has at most one hidden layer, and ends in a linear layer; only names differ.
#include "model/classifier.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/head.h"
#include "model/head_weights.h"

namespace inlay {
namespace {

struct Layout {
  std::string_view model_type;
  std::string_view dense;  // of the hidden layer [hidden, hidden]; "" if there is none
  Activation activation = Activation::kIdentity;
  std::string_view output = "classifier";  // [labels, hidden]
  Pooling pooling = Pooling::kCls;
};

constexpr std::array<Layout, 7> kLayouts = {{
    {"bert", "pooler.dense", Activation::kTanh},
    {"albert", "pooler", Activation::kTanh},
    {"distilbert", "pre_classifier", Activation::kRelu},
    {"electra", "classifier.dense", Activation::kGelu, "classifier.out_proj"},
    {"roberta", "classifier.dense", Activation::kTanh, "classifier.out_proj"},
    {"xlm-roberta", "classifier.dense", Activation::kTanh, "classifier.out_proj"},
    {"camembert", "classifier.dense", Activation::kTanh, "classifier.out_proj"},
}};

Result<const Layout*> layout_of(const std::string& model_type) {
  for (const Layout& layout : kLayouts) {
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

}  // namespace

Result<Classifier> Classifier::load(const ModelSpec& spec, const WeightStore& store, const Kernels& kernels, Team& team) {
  const Layout& layout = *TRY(layout_of(spec.encoder.model_type));
  const HeadWeights weights(store, kernels, team);
  Classifier classifier;
  const int hidden = classifier.hidden_size_ = spec.encoder.hidden_size;
  classifier.pooling_.modes = {layout.pooling};
  classifier.steps_ = RowSteps(kernels, hidden);
  if (!layout.dense.empty()) {
    classifier.steps_.add_dense(TRY(weights.linear(std::string(layout.dense), hidden, hidden, true)), layout.activation);
  }
  const int labels = static_cast<int>(spec.classifier->labels.size());
  classifier.steps_.add_dense(TRY(weights.linear(std::string(layout.output), labels, hidden, true)), Activation::kIdentity);
  return classifier;
}

void Classifier::apply(const PackedBatch& batch, Floats hidden, RowMemory& memory) const {
  const int texts = batch.texts();
  float* pooled = steps_.begin(texts, memory);
  for (int text = 0; text < texts; ++text) {
    const int begin = batch.starts[text];
    pool(pooling_, {hidden.row(begin), hidden.stride}, hidden_size_, batch.starts[text + 1] - begin, 0,
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
