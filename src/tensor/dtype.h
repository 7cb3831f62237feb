// Element types of tensors, as files name them and as kernels compute in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inlay {

// Names follow safetensors. Types below one byte exist in files only; `bits` tells.
enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64,
  kC64,
  kF4,
  kF6E2M3,
  kF6E3M2,
  // Blocks of elements with scales of their own, as GGUF files hold them. The last dimension is a whole number of blocks.
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4K,
  kQ5K,
  kQ6K,
};

// "F32", "BF16", "Q4_K", ...
std::string_view dtype_name(DType dtype);
// Only the types that safetensors knows: none of those with blocks.
std::optional<DType> dtype_from_name(std::string_view name);
// Bits of one element; 0 for types with blocks.
size_t dtype_bits(DType dtype);

// The least number of elements that can be stored, and the bits that they take.
struct DTypeBlock {
  size_t elements = 1;
  size_t bits = 0;
};
DTypeBlock dtype_block(DType dtype);
inline bool is_block_type(DType dtype) { return dtype_block(dtype).elements > 1; }
// Whether to_float can read it: floats and blocks of floats.
bool is_float_type(DType dtype);

}  // namespace inlay
