// Linear layers: weights packed once for the kernels, and activations in the form the kernels read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/team.h"
#include "kernels/kernels.h"
#include "kernels/pack.h"
#include "tensor/blob.h"

namespace inlay {

// A weight matrix [columns, k] as a checkpoint stores it, and how its products are computed.
class PackedLinear {
 public:
  // `row(column, out)` writes the k weights of an output feature; called once a column, from several threads of `team` at once.
  // `bias` is empty or has one number a column. kUnsupported if a weight does not fit the format (fp16 ends at 65504).
  using RowSource = std::function<Result<>(int column, std::span<float> out)>;
  static Result<PackedLinear> pack(const Kernels& kernels, Format format, int columns, int k, const RowSource& row,
                                   std::span<const float> bias, Team& team);

  // A packed matrix as blobs, so that it can be stored and taken back: the panels, and of [padded_columns] floats the bias and,
  // for kI8 only, the scale and the sum. What a format does not have is empty.
  static constexpr std::array<std::string_view, 4> kPartNames = {"panels", "bias", "scale", "sum"};
  using Parts = std::array<Blob, kPartNames.size()>;
  static std::array<size_t, kPartNames.size()> part_sizes(const PackedShape& shape, Format format);  // in bytes
  // What pack() gave as parts(), with the same kernels, format and sizes; every part has its size of part_sizes().
  static PackedLinear from_parts(const PackedShape& shape, Format format, Parts parts);
  const Parts& parts() const { return parts_; }
  // Moves the parts into the arena, which must outlive this.
  void move_into(BlobArena& arena);

  Format format() const { return format_; }
  const PackedShape& shape() const { return shape_; }
  size_t bytes() const;
  // Whether the parts are somebody else's memory.
  bool is_borrowed() const { return parts_[0].is_borrowed(); }

  const void* panels() const { return parts_[0].as<>(); }
  const float* bias() const { return parts_[1].as<float>(); }
  const float* scale() const { return parts_[2].as<float>(); }
  const float* sum() const { return parts_[3].as<float>(); }

 private:
  Format format_ = Format::kF32;
  PackedShape shape_;
  Parts parts_;
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
