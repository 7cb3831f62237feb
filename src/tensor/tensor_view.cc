#include "tensor/tensor_view.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "tensor/coded_matrix.h"
#include "tensor/half.h"

namespace inlay {
namespace {

template <class Stored, class Convert>
void convert_each(const std::byte* source, std::span<float> out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, source + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(value);
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
  const std::byte* source = tensor.bytes.data() + static_cast<size_t>(begin) * dtype_bits(tensor.dtype) / 8;
  switch (tensor.dtype) {
    case DType::kF32: convert_each<float>(source, out, [](float value) { return value; }); return {};
    case DType::kBF16: convert_each<uint16_t>(source, out, bf16_to_float); return {};
    case DType::kF16: convert_each<uint16_t>(source, out, fp16_to_float); return {};
    case DType::kF64: convert_each<double>(source, out, [](double value) { return static_cast<float>(value); }); return {};
    default: return fail(ErrorCode::kUnsupported, "tensor of type {}, wanted F32, F16, BF16 or F64", dtype_name(tensor.dtype));
  }
}

}  // namespace inlay
