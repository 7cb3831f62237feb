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
#include "tensor/coded_matrix.h"

namespace inlay {

// Floats in memory: [rows, columns] with `stride` floats between rows.
struct Floats {
  float* data = nullptr;
  int64_t stride = 0;
  float* row(int index) const { return data + index * stride; }
};

// Sees the inputs of a linear layer of a float format: rows [rows, k], once for each call of linear(), from the thread of rank
// 0.
class InputObserver {
 public:
  virtual ~InputObserver() = default;
  virtual void observe(Floats input, int rows) = 0;
};

// Where the weights [columns, k] of a linear layer come from. The functions are called once a column, from several threads at
// once.
struct LinearSource {
  // The k weights of an output feature.
  std::function<Result<>(int column, std::span<float> out)> row = {};
  // Where a checkpoint holds codes: those of an output feature, as they are. kI8 takes `codes` and their scale, kL4 takes
  // `levels` in groups of `group`. Other formats, and sources that have none, take `row`. kI4 takes nothing but `groups`, in
  // groups of `group` and with zeros if `has_zeros`.
  std::function<Result<float>(int column, std::span<int8_t> out)> codes = {};
  std::function<Result<>(int column, LevelRow& out)> levels = {};
  std::function<Result<>(int column, GroupedRow& out)> groups = {};
  int group = kDefaultGroup;  // of kL4 and kI4; a multiple of kGroupStep
  bool has_zeros = false;

  // Figures for MiniLM are in docs/guide/quantisation.md: groups of 64 save 1.5 % of memory and lose a tenth of the precision.
  static constexpr int kDefaultGroup = 32;
};

// A weight matrix [columns, k] as a checkpoint stores it, and how its products are computed.
class PackedLinear {
 public:
  // `row(column, out)` writes the k weights of an output feature; called once a column, from several threads of `team` at once.
  // `bias` is empty or has one number a column. kUnsupported if a weight does not fit the format (fp16 ends at 65504).
  using RowSource = std::function<Result<>(int column, std::span<float> out)>;
  static Result<PackedLinear> pack(const Kernels& kernels, Format format, int columns, int k, const RowSource& row,
                                   std::span<const float> bias, Team& team);
  // The same for the sizes of `shape`, which is that of the format and the source: shape_for().
  static Result<PackedLinear> pack(const Kernels& kernels, Format format, const PackedShape& shape, const LinearSource& source,
                                   std::span<const float> bias, Team& team);
  static PackedShape shape_for(const Kernels& kernels, Format format, int columns, int k, const LinearSource& source);

  // A packed matrix as blobs, so that it can be stored and taken back: the panels, of [padded_columns] floats the bias and, for
  // codes, the scale and the sum, and for each column and group the zeros of kI4 or the factors of kL4. kI4 has fp16 scales,
  // one for each column and group. What a format does not have is empty.
  static constexpr std::array<std::string_view, 5> kPartNames = {"panels", "bias", "scale", "sum", "group"};
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
  const uint16_t* group_scale() const { return parts_[2].as<uint16_t>(); }  // kI4
  // `observer` outlives this; null: nobody.
  void set_observer(InputObserver* observer) { observer_ = observer; }
  InputObserver* observer() const { return observer_; }
  const int8_t* factor() const { return parts_[4].as<int8_t>(); }  // kL4
  const uint8_t* zero() const { return shape_.has_zeros ? parts_[4].as<uint8_t>() : nullptr; }

 private:
  Format format_ = Format::kF32;
  PackedShape shape_;
  Parts parts_;
  InputObserver* observer_ = nullptr;
};

// Activations in the type that a format multiplies. For float formats this is the float buffer itself.
struct Operand {
  void* data = nullptr;
  int64_t stride = 0;        // elements
  float* scale = nullptr;    // of codes: [rows]
  float* minimum = nullptr;  // of codes: [rows]
  // Where data holds codes: the floats that they stand for. A layer of a float format reads these, so that one layer of a model
  // can be more precise than the others.
  Floats floats = {};

  // The same from row `begin` on; `format` says how large an element of `data` is.
  Operand from_row(const Kernels& kernels, Format format, int begin) const;
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
