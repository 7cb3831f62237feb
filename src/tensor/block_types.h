// Elements that are stored in blocks with scales of their own, as GGUF files hold them.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace inlay {

// The largest block of any type, in elements.
constexpr size_t kMaxBlockElements = 256;

// Decodes one block of `dtype`, which is a type with blocks. `block` holds its bytes, possibly unaligned, and `out` takes
// dtype_block(dtype).elements numbers.
void decode_block(DType dtype, const std::byte* block, std::span<float> out);

}  // namespace inlay
