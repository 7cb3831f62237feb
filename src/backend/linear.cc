#include "backend/linear.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "base/check.h"
#include "quant/level_codes.h"
#include "tensor/half.h"

namespace inlay {
namespace {

// Rows that go through all panels before the next rows: about 64, which are 98 KB of 384 floats and 196 KB of 768, beside two
// panels of B in L2. The rows of a batch are shared out evenly, in whole tiles: a last block of a few rows would stream all
// weights for them alone.
constexpr int kBlockRows = 64;
constexpr int kTileRows = 8;

int block_rows(int rows) {
  const int blocks = std::max(1, (rows + kBlockRows / 2) / kBlockRows);
  const int tiles = (rows + kTileRows - 1) / kTileRows;
  return (tiles + blocks - 1) / blocks * kTileRows;
}

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
    case Format::kI8:
    case Format::kI4:
    case Format::kL4: break;
  }
  return fail(ErrorCode::kInternal, "columns of integers are packed with their scales");
}

// Packs columns one by one into the buffers of a matrix. Threads may pack different columns.
class ColumnPacker {
 public:
  ColumnPacker(const Kernels& kernels, Format format, const PackedShape& shape, const LinearSource& source)
      : layout_(kernels.panel(format)), format_(format), shape_(shape), source_(source) {
    const std::array<size_t, 5> sizes = PackedLinear::part_sizes(shape, format);
    for (size_t i = 0; i < sizes.size(); ++i) buffers[i] = Buffer(sizes[i]);
  }

  // Of one thread.
  struct Memory {
    std::vector<float> values;
    std::vector<int8_t> codes;
    GroupedRow groups;
    LevelRow levels;
  };

  Result<> pack(int column, Memory& memory) {
    if (format_ == Format::kI4) return pack_groups(column, memory);
    if (format_ == Format::kL4) return pack_levels(column, memory);
    if (format_ == Format::kI8) return pack_codes(column, memory);
    TRY_VOID(read_row(column, memory));
    return pack_one(format_, layout_, shape_, column, memory.values.data(), buffers[0].as<>());
  }

  std::array<Buffer, 5> buffers;

 private:
  Result<> read_row(int column, Memory& memory) {
    memory.values.resize(static_cast<size_t>(shape_.k));
    return source_.row(column, memory.values);
  }

  Result<> pack_codes(int column, Memory& memory) {
    ColumnScale scale;
    if (source_.codes) {
      memory.codes.resize(static_cast<size_t>(shape_.k));
      const float of_codes = TRY(source_.codes(column, memory.codes));
      scale = pack_codes_i8(layout_, shape_, column, {memory.codes.data(), of_codes}, buffers[0].as<>());
    } else {
      TRY_VOID(read_row(column, memory));
      scale = pack_column_i8(layout_, shape_, column, memory.values.data(), buffers[0].as<>());
    }
    buffers[2].as<float>()[column] = scale.scale;
    buffers[3].as<float>()[column] = scale.sum;
    return {};
  }

  Result<> pack_groups(int column, Memory& memory) {
    if (!source_.groups) return fail(ErrorCode::kInternal, "groups with scales come from checkpoints only");
    TRY_VOID(source_.groups(column, memory.groups));
    const ColumnGroups row = {memory.groups.codes.data(), memory.groups.scales.data(), memory.groups.zeros.data()};
    const GroupPanels out = {buffers[0].as<>(), buffers[2].as<uint16_t>(), buffers[4].as<uint8_t>()};
    buffers[3].as<float>()[column] = pack_column_i4(layout_, shape_, column, row, out);
    return {};
  }

  Result<> pack_levels(int column, Memory& memory) {
    if (source_.levels) {
      TRY_VOID(source_.levels(column, memory.levels));
    } else {
      TRY_VOID(read_row(column, memory));
      TRY_VOID(round_to_levels(memory.values, shape_.group, memory.levels)
                   .map_error(within(fmt::format("output feature {}", column))));
    }
    const ColumnLevels row = {memory.levels.codes.data(), memory.levels.factors.data(), memory.levels.scale};
    buffers[2].as<float>()[column] = row.scale;
    buffers[3].as<float>()[column] = pack_column_l4(layout_, shape_, column, row, buffers[0].as<>(), buffers[4].as<int8_t>());
    return {};
  }

  const PanelLayout& layout_;
  Format format_;
  const PackedShape& shape_;
  const LinearSource& source_;
};

}  // namespace

std::array<size_t, 5> PackedLinear::part_sizes(const PackedShape& shape, Format format) {
  const size_t column_bytes = static_cast<size_t>(shape.padded_columns) * sizeof(float);
  const size_t group_count = static_cast<size_t>(shape.padded_columns) * static_cast<size_t>(shape.groups);
  switch (format) {
    case Format::kI8: return {shape.bytes, column_bytes, column_bytes, column_bytes, 0};
    case Format::kL4: return {shape.bytes, column_bytes, column_bytes, column_bytes, group_count};
    case Format::kI4:
      return {shape.bytes, column_bytes, group_count * sizeof(uint16_t), column_bytes, shape.has_zeros ? group_count : 0};
    default: return {shape.bytes, column_bytes, 0, 0, 0};
  }
}

PackedLinear PackedLinear::from_parts(const PackedShape& shape, Format format, Parts parts) {
  const std::array<size_t, 5> sizes = part_sizes(shape, format);
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
  const LinearSource source = {.row = row};
  return pack(kernels, format, shape_for(kernels, format, columns, k, source), source, bias, team);
}

PackedShape PackedLinear::shape_for(const Kernels& kernels, Format format, int columns, int k, const LinearSource& source) {
  const PanelLayout& layout = kernels.panel(format);
  if (format != Format::kI4 && format != Format::kL4) return packed_shape(layout, columns, k);
  return grouped_shape(layout, columns, k, source.group, format == Format::kI4 && source.has_zeros);
}

Result<PackedLinear> PackedLinear::pack(const Kernels& kernels, Format format, const PackedShape& shape,
                                        const LinearSource& source, std::span<const float> bias, Team& team) {
  ColumnPacker packer(kernels, format, shape, source);
  std::copy(bias.begin(), bias.end(), packer.buffers[1].as<float>());
  std::mutex mutex;
  std::optional<Error> error;
  team.run([&](const Share& share) {
    ColumnPacker::Memory memory;
    const Share::Range part = share.part_of(shape.columns, kernels.panel(format).panel_columns);
    for (int column = part.begin; column < part.end; ++column) {
      if (Result<> done = packer.pack(column, memory); !done) {
        const std::lock_guard<std::mutex> lock(mutex);
        error = std::move(done).error();
        return;
      }
    }
  });
  if (error) return tl::unexpected<Error>(*std::move(error));
  Parts parts;
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = Blob(std::move(packer.buffers[i]));
  return from_parts(shape, format, std::move(parts));
}

Operand Operand::from_row(const Kernels& kernels, Format format, int begin) const {
  Operand rest = *this;
  rest.data = static_cast<char*>(data) + begin * stride * kernels.panel(format).activation_bytes;
  if (scale != nullptr) rest.scale = scale + begin;
  if (minimum != nullptr) rest.minimum = minimum + begin;
  if (floats.data != nullptr) rest.floats.data = floats.row(begin);
  return rest;
}

void linear(const Kernels& kernels, const Share& share, const LinearOp& op) {
  const PackedLinear& weights = op.weights;
  const PanelLayout& layout = kernels.panel(weights.format());
  const int64_t output_bytes = op.output_is_bf16 ? 2 : 4;
  const Share::Range panels = share.part_of(weights.shape().panels);
  const int block = share.size == 1 ? block_rows(op.rows) : op.rows;
  // A layer that keeps floats in a model of codes.
  const bool reads_floats = op.input.floats.data != nullptr && !takes_codes(weights.format());
  const Operand input = reads_floats ? Operand{op.input.floats.data, op.input.floats.stride} : op.input;
  if (weights.observer() != nullptr && share.rank == 0)
    weights.observer()->observe({static_cast<float*>(input.data), input.stride}, op.rows);
  GemmArgs args;
  args.a_stride = input.stride * layout.activation_bytes;
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
  args.group = weights.shape().group;
  args.b_group_scale = weights.group_scale();
  args.b_zero = weights.zero();
  args.b_factor = weights.factor();
  for (int row = 0; row < op.rows; row += block) {
    args.rows = std::min(block, op.rows - row);
    args.a = static_cast<const char*>(input.data) + row * args.a_stride;
    args.c = static_cast<char*>(op.output) + row * op.output_stride * output_bytes;
    args.a_scale = input.scale == nullptr ? nullptr : input.scale + row;
    args.a_min = input.minimum == nullptr ? nullptr : input.minimum + row;
    if (op.residual != nullptr) {
      args.residual = op.residual->row(row);
      args.residual_stride = op.residual->stride;
    }
    kernels.gemm[static_cast<int>(weights.format())](args);
    share.give_way();
  }
}

}  // namespace inlay
