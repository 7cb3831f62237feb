#include "model/row_steps.h"

#include <algorithm>
#include <cmath>

namespace inlay {

void normalize(std::span<float> x) {
  double squares = 0;
  for (const float value : x) squares += static_cast<double>(value) * value;
  const float norm = std::max(static_cast<float>(std::sqrt(squares)), 1e-12F);
  // max() drops NaN, so a NaN norm is put back: the vector must stay an error.
  const float divisor = std::isnan(squares) ? std::nanf("") : norm;
  for (float& value : x) value /= divisor;
}

void RowSteps::add_dense(PackedLinear dense, Activation activation) {
  columns_ = dense.shape().columns;
  steps_.push_back({.kind = Kind::kDense, .columns = columns_, .dense = std::move(dense), .activation = activation});
}

void RowSteps::add_norm(NormWeights norm) {
  steps_.push_back({.kind = Kind::kNorm, .columns = columns_, .norm = std::move(norm)});
}

void RowSteps::add_normalize() { steps_.push_back({.kind = Kind::kNormalize, .columns = columns_}); }

uint64_t RowSteps::weight_bytes() const {
  uint64_t bytes = 0;
  for (const Step& step : steps_) bytes += step.dense.bytes();
  return bytes;
}

// Products write whole panels, and norms read whole vectors.
size_t RowSteps::stride_for(int columns) const {
  const size_t panel = static_cast<size_t>(kernels_->panel(Format::kF32).panel_columns);
  return round_up(round_up(static_cast<size_t>(columns), panel), 64);
}

float* RowSteps::begin(int rows, RowMemory& memory) const {
  memory.current.assign(static_cast<size_t>(rows) * stride(), 0.0F);
  return memory.current.data();
}

// memory.current [rows, stride_for(step's input)] becomes the step's result.
void RowSteps::run_dense(const Step& step, int rows, RowMemory& memory) const {
  const int64_t in_stride = static_cast<int64_t>(stride_for(step.dense.shape().k));
  const int64_t stride = static_cast<int64_t>(stride_for(step.columns));
  memory.next.assign(static_cast<size_t>(rows * stride), 0.0F);
  linear(*kernels_, Share{},
         {.weights = step.dense,
          .input = {memory.current.data(), in_stride, nullptr, nullptr},
          .rows = rows,
          .activation = step.activation,
          .output = memory.next.data(),
          .output_stride = stride});
  memory.current.swap(memory.next);
}

void RowSteps::run(int rows, RowMemory& memory) const {
  for (const Step& step : steps_) {
    const size_t stride = stride_for(step.columns);
    switch (step.kind) {
      case Kind::kDense: run_dense(step, rows, memory); break;
      case Kind::kNorm:
        layer_norm(*kernels_, Share{}, step.norm, {memory.current.data(), static_cast<int64_t>(stride)}, rows);
        break;
      case Kind::kNormalize:
        for (int row = 0; row < rows; ++row) {
          normalize({memory.current.data() + static_cast<size_t>(row) * stride, static_cast<size_t>(step.columns)});
        }
        break;
    }
  }
}

}  // namespace inlay
