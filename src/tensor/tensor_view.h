// A read-only tensor somewhere in memory: little endian, possibly unaligned (files do not promise alignment), and row major
// unless it has strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace inlay {

class CodedMatrix;

struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // Owned by somebody else.
  // Distance of neighbours in each dimension, in elements and not negative; empty for row major. All elements lie in `bytes`.
  // Types with blocks and codes are always row major.
  std::vector<int64_t> strides = {};
  // Of a matrix that is stored as codes with scales, else null. `dtype` and `bytes` are then those of the codes.
  const CodedMatrix* coded = nullptr;

  // Whether the bytes are the elements one after another, so that they can be used as they lie.
  bool is_row_major() const { return strides.empty(); }
  int64_t element_count() const {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    return count;
  }
};

// "[30522, 384]"
std::string shape_text(std::span<const int64_t> shape);

// Converts elements [begin, begin + out.size()), counted in row-major order whatever the strides, of F32, F16, BF16, F64, a
// type with blocks or codes to float; other types are kUnsupported.
Result<> to_float(const TensorView& tensor, int64_t begin, std::span<float> out);

}  // namespace inlay
