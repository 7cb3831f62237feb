#include "jobs/calibration.h"

#include <algorithm>

#include "backend/linear.h"
#include "engine/precision.h"
#include "model/model_spec.h"
#include "tokenizer/tokenizer.h"

namespace inlay {
namespace {

// So many rows become one product: it reads and writes the sums once, so more rows cost less, and 256 rows of 4096 inputs are
// 4 MB.
constexpr int kChunkRows = 256;

}  // namespace

InputSums::InputSums(const Kernels& kernels, int k) : kernels_(kernels), k_(k) {
  stride_ = packed_shape(kernels.panel(Format::kF32), k, kChunkRows).padded_columns;
}

InputSums::~InputSums() = default;

void InputSums::observe(Floats input, int rows) {
  if (pending_.size() == 0) {
    pending_ = Buffer(static_cast<size_t>(k_) * kChunkRows * sizeof(float));
    sums_ = Buffer(static_cast<size_t>(k_) * static_cast<size_t>(stride_) * sizeof(float));
  }
  for (int row = 0; row < rows; ++row) {
    const float* x = input.row(row);
    for (int i = 0; i < k_; ++i) pending_.as<float>()[static_cast<int64_t>(i) * kChunkRows + pending_rows_] = x[i];
    if (++pending_rows_ == kChunkRows) add_pending();
  }
  rows_ += rows;
}

// sums += X^T X, as a product of the library: X^T is the activations [k, rows], and the weights of k output features as well.
void InputSums::add_pending() {
  const Floats transposed = {pending_.as<float>(), kChunkRows};
  const PackedLinear::RowSource row = [&transposed](int i, std::span<float> out) -> Result<> {
    std::copy_n(transposed.row(i), out.size(), out.begin());
    return {};
  };
  Team alone(1);
  const Result<PackedLinear> weights = PackedLinear::pack(kernels_, Format::kF32, k_, kChunkRows, row, {}, alone);
  const Floats sums = {sums_.as<float>(), stride_};
  linear(kernels_, Share{},
         {.weights = *weights,
          .input = {transposed.data, transposed.stride},
          .rows = k_,
          .residual = &sums,
          .output = sums.data,
          .output_stride = sums.stride});
  std::fill_n(pending_.as<float>(), static_cast<size_t>(k_) * kChunkRows, 0.0F);
  pending_rows_ = 0;
}

std::vector<float> InputSums::sums() {
  std::vector<float> result(static_cast<size_t>(k_) * static_cast<size_t>(k_));
  if (rows_ == 0) return result;
  if (pending_rows_ > 0) add_pending();
  for (int i = 0; i < k_; ++i) std::copy_n(sums_.as<float>() + i * stride_, k_, result.begin() + static_cast<int64_t>(i) * k_);
  return result;
}

InputObserver* ModelParts::linear(const Layer& layer) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].weights == layer.weights) return inputs_[i].get();
  }
  layers_.push_back(layer);
  inputs_.push_back(collect_ ? std::make_unique<InputSums>(kernels_, layer.k) : nullptr);
  return inputs_.back().get();
}

void ModelParts::table(const std::string& name, int rows, int columns) {
  const auto is_same = [&name](const Table& table) { return table.name == name; };
  if (std::none_of(tables_.begin(), tables_.end(), is_same)) tables_.push_back({name, rows, columns});
}

Result<CalibrationReport> calibrate(const CalibrationOptions& options, const WeightStore& weights,
                                    const std::vector<std::string>& texts, ModelParts& parts) {
  const ModelSpec spec = TRY(read_model_spec(options.model));
  const Kernels& table = kernels();
  LoadPlan plan = plan_for(Precision::kFloat32, table);
  plan.visitor = &parts;
  Team alone(1);
  const std::unique_ptr<Encoder> encoder = TRY(load_encoder(spec.encoder, weights, plan, alone));
  CalibrationReport report;
  if (texts.empty()) return report;
  const Tokenizer tokenizer = TRY(Tokenizer::load(spec.folder, spec.lower_case_first));
  EncodeOptions encode;
  encode.max_length = options.max_length > 0 ? std::min(options.max_length, spec.max_length) : spec.max_length;
  Workspace workspace(plan.compute, encoder->sizes(), encode.max_length, 1);
  const auto prompt = spec.default_prompt_name ? spec.prompts.find(*spec.default_prompt_name) : spec.prompts.end();
  PackedBatch batch;
  for (const std::string& text : texts) {
    if (options.stopped && options.stopped()) return fail(ErrorCode::kCancelled, "stopped");
    const std::string whole = prompt == spec.prompts.end() ? text : prompt->second + text;
    const Encoding tokens = TRY(tokenizer.encode(whole, encode));
    batch.clear();
    batch.add(tokens.ids, tokens.type_ids);
    encoder->forward(Share{}, batch, workspace);
    ++report.texts;
    report.tokens += tokens.ids.size();
  }
  return report;
}

}  // namespace inlay
