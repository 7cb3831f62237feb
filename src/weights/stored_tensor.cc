#include "weights/stored_tensor.h"

#include "tensor/tensor_view.h"

namespace inlay {

Result<uint64_t> stored_bytes(DType dtype, std::span<const int64_t> shape) {
  if (shape.size() > kMaxStoredRank) {
    return fail(ErrorCode::kCorrupt, "{} dimensions, at most {} are allowed", shape.size(), kMaxStoredRank);
  }
  int64_t elements = 1;
  for (const int64_t dim : shape) {
    if (dim < 0 || static_cast<uint64_t>(dim) > kMaxStoredDim || __builtin_mul_overflow(elements, dim, &elements)) {
      return fail(ErrorCode::kCorrupt, "shape {} has too many elements", shape_text(shape));
    }
  }
  const DTypeBlock block = dtype_block(dtype);
  if (block.elements > 1 && (shape.empty() || static_cast<uint64_t>(shape.back()) % block.elements != 0)) {
    return fail(ErrorCode::kCorrupt, "rows of shape {} are no whole number of blocks of {} elements", shape_text(shape),
                block.elements);
  }
  uint64_t bits = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(elements) / block.elements, block.bits, &bits) || bits % 8 != 0) {
    return fail(ErrorCode::kCorrupt, "shape {} fills no possible number of bytes", shape_text(shape));
  }
  return bits / 8;
}

Result<> place_row_major(StoredTensor& tensor, DType dtype, uint64_t begin, uint64_t file_size) {
  const uint64_t size = TRY(stored_bytes(dtype, tensor.shape).map_error(within(fmt::format("tensor '{}'", tensor.name))));
  if (begin > file_size || size > file_size - begin) {
    return fail(ErrorCode::kCorrupt, "tensor '{}': {} bytes at byte {} of a file of {}; truncated?", tensor.name, size, begin,
                file_size);
  }
  tensor.dtype = dtype;
  tensor.dtype_text = dtype_name(dtype);
  tensor.begin = begin;
  tensor.end = begin + size;
  return {};
}

}  // namespace inlay
