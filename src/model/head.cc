#include "model/head.h"

#include <algorithm>

#include "model/head_weights.h"

namespace inlay {
namespace {

constexpr float kLayerNormEps = 1e-5F;  // torch's default, which the LayerNorm module uses

Result<> add_module(const ModuleSpec& module, const Kernels& kernels, Team& team, RowSteps& steps) {
  if (module.kind == ModuleSpec::Kind::kNormalize) {
    steps.add_normalize();
    return {};
  }
  const bool is_dense = module.kind == ModuleSpec::Kind::kDense;
  const WeightStore store = TRY(WeightStore::open(is_dense ? module.dense.folder : module.layer_norm.folder));
  const HeadWeights weights(store, kernels, team);
  if (is_dense) {
    const DenseSpec& dense = module.dense;
    steps.add_dense(TRY(weights.linear("linear", dense.out_features, dense.in_features, dense.bias)), dense.activation);
  } else {
    steps.add_norm(TRY(weights.norm("norm", module.layer_norm.dimension, kLayerNormEps)));
  }
  return {};
}

}  // namespace

Result<> add_modules(std::span<const ModuleSpec> specs, const Kernels& kernels, Team& team, RowSteps& steps) {
  for (const ModuleSpec& module : specs) TRY_VOID(add_module(module, kernels, team, steps));
  return {};
}

Result<Head> Head::load(const ModelSpec& spec, const HeadOptions& options, const Kernels& kernels, Team& team) {
  Head head;
  head.hidden_size_ = spec.encoder.hidden_size;
  head.final_normalize_ = options.final_normalize;
  std::vector<ModuleSpec> after;
  for (const ModuleSpec& module : spec.modules) {
    if (module.kind == ModuleSpec::Kind::kPooling) {
      head.pooling_ = module.pooling;
    } else if (options.keep_normalize || module.kind != ModuleSpec::Kind::kNormalize) {
      after.push_back(module);
    }
  }
  const int pooled = head.hidden_size_ * static_cast<int>(head.pooling_.modes.size());
  head.steps_ = RowSteps(kernels, pooled);
  TRY_VOID(add_modules(after, kernels, team, head.steps_));
  head.dimensions_ = head.steps_.columns();
  if (options.dimensions) {
    if (*options.dimensions < 1 || *options.dimensions > head.dimensions_) {
      return fail(ErrorCode::kInvalidArgument, "dimensions is {}, the model gives 1 to {}", *options.dimensions,
                  head.dimensions_);
    }
    head.dimensions_ = *options.dimensions;
    // A shortened vector is normalised after the cut, or it would not have unit length.
    if (head.steps_.ends_normal()) head.final_normalize_ = true;
  }
  return head;
}

void Head::apply(const PackedBatch& batch, std::span<const int> prompt_tokens, Floats hidden, RowMemory& memory,
                 float* out) const {
  const int texts = batch.texts();
  float* pooled = steps_.begin(texts, memory);
  for (int text = 0; text < texts; ++text) {
    const int begin = batch.starts[text];
    // Tokens that attention does not see do not count here either.
    pool(pooling_, {hidden.row(begin), hidden.stride}, hidden_size_, batch.keys[text], prompt_tokens[text],
         pooled + static_cast<size_t>(text) * steps_.stride());
  }
  steps_.run(texts, memory);
  for (int text = 0; text < texts; ++text) {
    const std::span<float> vector(out + static_cast<size_t>(text) * dimensions_, static_cast<size_t>(dimensions_));
    std::copy_n(steps_.result(text, memory), dimensions_, vector.data());
    if (final_normalize_) normalize(vector);
  }
}

}  // namespace inlay
