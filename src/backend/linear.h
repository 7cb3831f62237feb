// Linear layers: weights packed once for the kernels, and activations in the form the kernels read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "base/team.h"
#include "kernels/kernels.h"
#include "kernels/pack.h"
#include "tensor/buffer.h"

namespace inlay {

// A weight matrix [columns, k] as a checkpoint stores it, and how its products are computed.
class PackedLinear {
 public:
  // `row(column, out)` writes the k weights of an output feature; called once a column, from several threads of `team` at once.
  // `bias` is empty or has one number a column. kUnsupported if a weight does not fit the format (fp16 ends at 65504).
  using RowSource = std::function<Result<>(int column, std::span<float> out)>;
  static Result<PackedLinear> pack(const Kernels& kernels, Format format, int columns, int k, const RowSource& row,
                                   std::span<const float> bias, Team& team);

  Format format() const { return format_; }
  const PackedShape& shape() const { return shape_; }
  size_t bytes() const { return panels_.size() + bias_.size() + scale_.size() + sum_.size(); }

  const void* panels() const { return panels_.as<>(); }
  const float* bias() const { return bias_.as<float>(); }
  const float* scale() const { return scale_.as<float>(); }
  const float* sum() const { return sum_.as<float>(); }

 private:
  Format format_ = Format::kF32;
  PackedShape shape_;
  Buffer panels_;
  Buffer bias_;   // [padded_columns]
  Buffer scale_;  // kI8: [padded_columns]
  Buffer sum_;    // kI8: [padded_columns]
};

// Floats in memory: [rows, columns] with `stride` floats between rows.
struct Floats {
  float* data = nullptr;
  int64_t stride = 0;
  float* row(int index) const { return data + index * stride; }
};

// Activations in the type that a format multiplies. For float formats this is the float buffer itself.
struct Operand {
  void* data = nullptr;
  int64_t stride = 0;        // elements
  float* scale = nullptr;    // kI8: [rows]
  float* minimum = nullptr;  // kI8: [rows]
};

struct LinearOp {
  const PackedLinear& weights;
  Operand input;
  int rows = 0;
  Activation activation = Activation::kIdentity;
  const Floats* residual = nullptr;  // added after the activation; may be the output itself
  void* output = nullptr;            // [rows, padded_columns], float or bf16
  int64_t output_stride = 0;         // elements
  bool output_is_bf16 = false;
};

// Runs the thread's share: alone it takes all rows in blocks that stay in L2, in a team it takes its panels of columns for all
// rows. The caller synchronises the team afterwards.
void linear(const Kernels& kernels, const Share& share, const LinearOp& op);

}  // namespace inlay
