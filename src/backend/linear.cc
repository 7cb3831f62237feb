#include "backend/linear.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

namespace inlay {
namespace {

// Rows that go through all panels before the next rows: 64 rows of 384 floats are 98 KB, of 3072 floats 786 KB, beside a panel
// of B in L2.
constexpr int kBlockRows = 64;
constexpr float kFp16Max = 65504.0F;

Result<> pack_one(Format format, const PanelLayout& layout, const PackedShape& shape, int column, const float* row,
                  void* panels) {
  switch (format) {
    case Format::kF32: pack_column_f32(layout, shape, column, row, panels); return {};
    case Format::kBF16:
    case Format::kBF16Weights: pack_column_bf16(layout, shape, column, row, panels); return {};
    case Format::kHalfWeights:
      for (int k = 0; k < shape.k; ++k) {
        if (std::abs(row[k]) > kFp16Max) {
          return fail(ErrorCode::kUnsupported, "weight {} of output feature {} does not fit float16; take bfloat16 or float32",
                      row[k], column);
        }
      }
      pack_column_fp16(layout, shape, column, row, panels);
      return {};
    case Format::kI8: break;
  }
  return fail(ErrorCode::kInternal, "int8 columns are packed with their scales");
}

}  // namespace

Result<PackedLinear> PackedLinear::pack(const Kernels& kernels, Format format, int columns, int k, const RowSource& row,
                                        std::span<const float> bias, Team& team) {
  const PanelLayout& layout = kernels.panel(format);
  PackedLinear linear;
  linear.format_ = format;
  linear.shape_ = packed_shape(layout, columns, k);
  linear.panels_ = Buffer(linear.shape_.bytes);
  const size_t column_bytes = static_cast<size_t>(linear.shape_.padded_columns) * sizeof(float);
  linear.bias_ = Buffer(column_bytes);
  std::copy(bias.begin(), bias.end(), linear.bias_.as<float>());
  if (format == Format::kI8) {
    linear.scale_ = Buffer(column_bytes);
    linear.sum_ = Buffer(column_bytes);
  }
  std::mutex mutex;
  std::optional<Error> error;
  const auto pack_column = [&](int column, std::vector<float>& values) -> Result<> {
    TRY_VOID(row(column, values));
    if (format != Format::kI8) return pack_one(format, layout, linear.shape_, column, values.data(), linear.panels_.as<>());
    const ColumnScale scale = pack_column_i8(layout, linear.shape_, column, values.data(), linear.panels_.as<>());
    linear.scale_.as<float>()[column] = scale.scale;
    linear.sum_.as<float>()[column] = scale.sum;
    return {};
  };
  team.run([&](const Share& share) {
    std::vector<float> values(k);
    const Share::Range part = share.part_of(columns, layout.panel_columns);
    for (int column = part.begin; column < part.end; ++column) {
      if (Result<> done = pack_column(column, values); !done) {
        const std::lock_guard<std::mutex> lock(mutex);
        error = std::move(done).error();
        return;
      }
    }
  });
  if (error) return tl::unexpected<Error>(*std::move(error));
  return linear;
}

void linear(const Kernels& kernels, const Share& share, const LinearOp& op) {
  const PackedLinear& weights = op.weights;
  const PanelLayout& layout = kernels.panel(weights.format());
  const int64_t output_bytes = op.output_is_bf16 ? 2 : 4;
  const Share::Range panels = share.part_of(weights.shape().panels);
  const int block = share.size == 1 ? kBlockRows : op.rows;
  GemmArgs args;
  args.a_stride = op.input.stride * layout.activation_bytes;
  args.b = weights.panels();
  args.k = weights.shape().padded_k;
  args.panel_begin = panels.begin;
  args.panel_end = panels.end;
  args.bias = weights.bias();
  args.activation = op.activation;
  args.c_stride = op.output_stride;
  args.c_is_bf16 = op.output_is_bf16;
  args.b_scale = weights.scale();
  args.b_sum = weights.sum();
  for (int row = 0; row < op.rows; row += block) {
    args.rows = std::min(block, op.rows - row);
    args.a = static_cast<const char*>(op.input.data) + row * args.a_stride;
    args.c = static_cast<char*>(op.output) + row * op.output_stride * output_bytes;
    args.a_scale = op.input.scale == nullptr ? nullptr : op.input.scale + row;
    args.a_min = op.input.minimum == nullptr ? nullptr : op.input.minimum + row;
    if (op.residual != nullptr) {
      args.residual = op.residual->row(row);
      args.residual_stride = op.residual->stride;
    }
    kernels.gemm[static_cast<int>(weights.format())](args);
    share.give_way();
  }
}

}  // namespace inlay
