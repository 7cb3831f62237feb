#include "model/head.h"

#include <algorithm>

#include "weights/weight_store.h"

namespace inlay {
namespace {

constexpr float kLayerNormEps = 1e-5F;  // torch's default, which the LayerNorm module uses

// A float tensor of a module's own weight file, with the shape it must have.
Result<const TensorView*> module_tensor(const WeightStore& weights, std::string_view name, std::vector<int64_t> shape) {
  const TensorView* tensor = TRY(weights.get(name));
  if (tensor->shape == shape) return tensor;
  return fail(ErrorCode::kCorrupt, "{}: {}: found shape {}, wanted {}", weights.file_of(name), name, shape_text(tensor->shape),
              shape_text(shape));
}

Result<std::vector<float>> module_vector(const WeightStore& weights, std::string_view name, int size) {
  const TensorView* tensor = TRY(module_tensor(weights, name, {size}));
  std::vector<float> values(size);
  TRY_VOID(to_float(*tensor, 0, values).map_error(within(std::string(name))));
  return values;
}

// Always in fp32: these products are a few texts by a few hundred columns.
Result<PackedLinear> load_dense(const DenseSpec& spec, const Kernels& kernels, Team& team) {
  const WeightStore weights = TRY(WeightStore::open(spec.folder));
  const TensorView* tensor = TRY(module_tensor(weights, "linear.weight", {spec.out_features, spec.in_features}));
  std::vector<float> bias;
  if (spec.bias) bias = TRY(module_vector(weights, "linear.bias", spec.out_features));
  const PackedLinear::RowSource row = [&](int column, std::span<float> out) {
    return to_float(*tensor, static_cast<int64_t>(column) * spec.in_features, out);
  };
  return PackedLinear::pack(kernels, Format::kF32, spec.out_features, spec.in_features, row, bias, team)
      .map_error(within(weights.file_of("linear.weight")));
}

Result<NormWeights> load_norm(const LayerNormSpec& spec) {
  const WeightStore weights = TRY(WeightStore::open(spec.folder));
  const std::vector<float> gamma = TRY(module_vector(weights, "norm.weight", spec.dimension));
  const std::vector<float> beta = TRY(module_vector(weights, "norm.bias", spec.dimension));
  return NormWeights(gamma, beta, kLayerNormEps);
}

}  // namespace

Result<Head> Head::load(const ModelSpec& spec, const HeadOptions& options, const Kernels& kernels, Team& team) {
  Head head;
  head.kernels_ = &kernels;
  head.hidden_size_ = spec.encoder.hidden_size;
  head.final_normalize_ = options.final_normalize;
  int columns = 0;
  for (const ModuleSpec& module : spec.modules) {
    Step step;
    step.kind = module.kind;
    switch (module.kind) {
      case ModuleSpec::Kind::kPooling:
        head.pooling_ = module.pooling;
        columns = head.hidden_size_ * static_cast<int>(module.pooling.modes.size());
        head.pooled_columns_ = columns;
        continue;
      case ModuleSpec::Kind::kDense:
        step.dense = TRY(load_dense(module.dense, kernels, team));
        step.activation = module.dense.activation;
        columns = module.dense.out_features;
        break;
      case ModuleSpec::Kind::kLayerNorm: step.norm = TRY(load_norm(module.layer_norm)); break;
      case ModuleSpec::Kind::kNormalize:
        if (!options.keep_normalize) continue;
        break;
    }
    step.columns = columns;
    head.steps_.push_back(std::move(step));
  }
  head.dimensions_ = columns;
  if (options.dimensions) {
    if (*options.dimensions < 1 || *options.dimensions > columns) {
      return fail(ErrorCode::kInvalidArgument, "dimensions is {}, the model gives 1 to {}", *options.dimensions, columns);
    }
    head.dimensions_ = *options.dimensions;
    // A shortened vector is normalised after the cut, or it would not have unit length.
    const bool ends_normal = !head.steps_.empty() && head.steps_.back().kind == ModuleSpec::Kind::kNormalize;
    if (ends_normal) head.final_normalize_ = true;
  }
  return head;
}

uint64_t Head::weight_bytes() const {
  uint64_t bytes = 0;
  for (const Step& step : steps_) bytes += step.dense.bytes();
  return bytes;
}

size_t Head::stride_for(int columns) const {
  return round_up(static_cast<size_t>(columns), static_cast<size_t>(std::max(kernels_->panel(Format::kF32).panel_columns, 64)));
}

// memory.current [texts, stride_for(step's input)] becomes the step's result.
void Head::run(const Step& step, int texts, Memory& memory) const {
  const size_t stride = stride_for(step.columns);
  if (step.kind == ModuleSpec::Kind::kDense) {
    const int64_t in_stride = static_cast<int64_t>(stride_for(step.dense.shape().k));
    memory.next.assign(static_cast<size_t>(texts) * static_cast<size_t>(std::max<int64_t>(step.dense.shape().padded_columns,
                                                                                          static_cast<int64_t>(stride))),
                       0.0F);
    linear(*kernels_, Share{},
           {.weights = step.dense,
            .input = {memory.current.data(), in_stride, nullptr, nullptr},
            .rows = texts,
            .activation = step.activation,
            .output = memory.next.data(),
            .output_stride = static_cast<int64_t>(stride)});
    memory.current.swap(memory.next);
  }
  if (step.kind == ModuleSpec::Kind::kLayerNorm) {
    layer_norm(*kernels_, Share{}, step.norm, {memory.current.data(), static_cast<int64_t>(stride)}, texts);
  }
  if (step.kind == ModuleSpec::Kind::kNormalize) {
    for (int text = 0; text < texts; ++text) {
      normalize({memory.current.data() + static_cast<size_t>(text) * stride, static_cast<size_t>(step.columns)});
    }
  }
}

void Head::apply(const PackedBatch& batch, std::span<const int> prompt_tokens, Floats hidden, Memory& memory,
                 float* out) const {
  const int texts = batch.texts();
  size_t stride = stride_for(pooled_columns_);
  memory.current.assign(static_cast<size_t>(texts) * stride, 0.0F);
  for (int text = 0; text < texts; ++text) {
    const int begin = batch.starts[text];
    pool(pooling_, {hidden.row(begin), hidden.stride}, hidden_size_, batch.starts[text + 1] - begin, prompt_tokens[text],
         memory.current.data() + static_cast<size_t>(text) * stride);
  }
  for (const Step& step : steps_) {
    run(step, texts, memory);
    stride = stride_for(step.columns);
  }
  for (int text = 0; text < texts; ++text) {
    const std::span<float> vector(out + static_cast<size_t>(text) * dimensions_, static_cast<size_t>(dimensions_));
    std::copy_n(memory.current.data() + static_cast<size_t>(text) * stride, dimensions_, vector.data());
    if (final_normalize_) normalize(vector);
  }
}

}  // namespace inlay
