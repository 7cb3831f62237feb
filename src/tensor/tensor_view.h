// A read-only tensor somewhere in memory: row major, little endian, possibly unaligned (files do not promise alignment).
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
  // Of a matrix that is stored as codes with scales, else null. `dtype` and `bytes` are then those of the codes.
  const CodedMatrix* coded = nullptr;

  int64_t element_count() const {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    return count;
  }
};

// "[30522, 384]"
std::string shape_text(std::span<const int64_t> shape);

// Converts elements [begin, begin + out.size()) of F32, F16, BF16, F64 or codes to float; other types are kUnsupported.
Result<> to_float(const TensorView& tensor, int64_t begin, std::span<float> out);

}  // namespace inlay
