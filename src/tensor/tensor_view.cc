#include "tensor/tensor_view.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "tensor/block_types.h"
#include "tensor/coded_matrix.h"
#include "tensor/half.h"

namespace inlay {
namespace {

template <class Stored, class Convert>
void convert_each(const std::byte* source, int64_t stride, std::span<float> out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, source + static_cast<int64_t>(i) * stride * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
    out[i] = convert(value);
  }
}

// `offset` and `stride` are in elements.
Result<> convert_run(const TensorView& tensor, int64_t offset, int64_t stride, std::span<float> out) {
  const std::byte* source = tensor.bytes.data() + static_cast<size_t>(offset) * dtype_bits(tensor.dtype) / 8;
  switch (tensor.dtype) {
    case DType::kF32: convert_each<float>(source, stride, out, [](float value) { return value; }); return {};
    case DType::kBF16: convert_each<uint16_t>(source, stride, out, bf16_to_float); return {};
    case DType::kF16: convert_each<uint16_t>(source, stride, out, fp16_to_float); return {};
    case DType::kF64: convert_each<double>(source, stride, out, [](double v) { return static_cast<float>(v); }); return {};
    default: return fail(ErrorCode::kUnsupported, "tensor of type {}, wanted F32, F16, BF16 or F64", dtype_name(tensor.dtype));
  }
}

// Goes through the tensor row by row, where a row is a run along the last dimension.
Result<> convert_strided(const TensorView& tensor, int64_t begin, std::span<float> out) {
  const size_t last = tensor.shape.size() - 1;
  while (!out.empty()) {
    int64_t rest = begin / tensor.shape[last];
    const int64_t column = begin % tensor.shape[last];
    int64_t offset = column * tensor.strides[last];
    for (size_t dim = last; dim-- > 0; rest /= tensor.shape[dim]) offset += rest % tensor.shape[dim] * tensor.strides[dim];
    const size_t count = std::min(out.size(), static_cast<size_t>(tensor.shape[last] - column));
    TRY_VOID(convert_run(tensor, offset, tensor.strides[last], out.first(count)));
    out = out.subspan(count);
    begin += static_cast<int64_t>(count);
  }
  return {};
}

void convert_blocks(const TensorView& tensor, int64_t begin, std::span<float> out) {
  const DTypeBlock block = dtype_block(tensor.dtype);
  std::array<float, kMaxBlockElements> decoded = {};
  size_t position = static_cast<size_t>(begin);
  while (!out.empty()) {
    const std::byte* source = tensor.bytes.data() + position / block.elements * (block.bits / 8);
    decode_block(tensor.dtype, source, std::span(decoded).first(block.elements));
    const size_t first = position % block.elements;
    const size_t count = std::min(out.size(), block.elements - first);
    std::copy_n(decoded.begin() + first, count, out.begin());
    out = out.subspan(count);
    position += count;
  }
}

// Any range of a matrix of codes, row by row; whole rows go straight to `out`.
void read_coded(const CodedMatrix& matrix, int64_t begin, std::span<float> out) {
  const int64_t columns = matrix.columns();
  std::vector<float> values;
  while (!out.empty()) {
    const int64_t row = begin / columns;
    const int64_t first = begin % columns;
    const size_t count = std::min(out.size(), static_cast<size_t>(columns - first));
    if (count == static_cast<size_t>(columns)) {
      matrix.read(row, out.first(count));
    } else {
      values.resize(static_cast<size_t>(columns));
      matrix.read(row, values);
      std::copy_n(values.begin() + first, count, out.begin());
    }
    out = out.subspan(count);
    begin += static_cast<int64_t>(count);
  }
}

}  // namespace

std::string shape_text(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<> to_float(const TensorView& tensor, int64_t begin, std::span<float> out) {
  INLAY_CHECK(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= tensor.element_count(), "range inside the tensor");
  if (tensor.coded != nullptr) {
    read_coded(*tensor.coded, begin, out);
    return {};
  }
  if (out.empty() && is_float_type(tensor.dtype)) return {};
  if (is_block_type(tensor.dtype)) {
    convert_blocks(tensor, begin, out);
    return {};
  }
  return tensor.is_row_major() ? convert_run(tensor, begin, 1, out) : convert_strided(tensor, begin, out);
}

}  // namespace inlay
