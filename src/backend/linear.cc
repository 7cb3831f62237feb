#include "backend/linear.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "base/check.h"

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

std::array<size_t, 4> PackedLinear::part_sizes(const PackedShape& shape, Format format) {
  const size_t column_bytes = static_cast<size_t>(shape.padded_columns) * sizeof(float);
  const size_t i8_bytes = format == Format::kI8 ? column_bytes : 0;
  return {shape.bytes, column_bytes, i8_bytes, i8_bytes};
}

PackedLinear PackedLinear::from_parts(const PackedShape& shape, Format format, Parts parts) {
  const std::array<size_t, 4> sizes = part_sizes(shape, format);
  for (size_t i = 0; i < sizes.size(); ++i) INLAY_CHECK(parts[i].size() == sizes[i], "parts were asked for with their sizes");
  PackedLinear linear;
  linear.format_ = format;
  linear.shape_ = shape;
  linear.parts_ = std::move(parts);
  return linear;
}

void PackedLinear::move_into(BlobArena& arena) {
  for (Blob& part : parts_) part = Blob::place(arena, part.bytes());
}

size_t PackedLinear::bytes() const {
  size_t sum = 0;
  for (const Blob& part : parts_) sum += part.size();
  return sum;
}

Result<PackedLinear> PackedLinear::pack(const Kernels& kernels, Format format, int columns, int k, const RowSource& row,
                                        std::span<const float> bias, Team& team) {
  const PanelLayout& layout = kernels.panel(format);
  const PackedShape shape = packed_shape(layout, columns, k);
  const std::array<size_t, 4> sizes = part_sizes(shape, format);
  Buffer panels(sizes[0]), biases(sizes[1]), scales(sizes[2]), sums(sizes[3]);
  std::copy(bias.begin(), bias.end(), biases.as<float>());
  std::mutex mutex;
  std::optional<Error> error;
  const auto pack_column = [&](int column, std::vector<float>& values) -> Result<> {
    TRY_VOID(row(column, values));
    if (format != Format::kI8) return pack_one(format, layout, shape, column, values.data(), panels.as<>());
    const ColumnScale scale = pack_column_i8(layout, shape, column, values.data(), panels.as<>());
    scales.as<float>()[column] = scale.scale;
    sums.as<float>()[column] = scale.sum;
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
  return from_parts(shape, format,
                    {Blob(std::move(panels)), Blob(std::move(biases)), Blob(std::move(scales)), Blob(std::move(sums))});
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
