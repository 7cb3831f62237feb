#include "tensor/dtype.h"

#include <array>

namespace inlay {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  size_t bits;  // of a block
  size_t elements = 1;
};

constexpr std::array<Entry, 30> kEntries = {{
    {DType::kBool, "BOOL", 8},
    {DType::kU8, "U8", 8},
    {DType::kI8, "I8", 8},
    {DType::kF8E4M3, "F8_E4M3", 8},
    {DType::kF8E5M2, "F8_E5M2", 8},
    {DType::kF8E8M0, "F8_E8M0", 8},
    {DType::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8},
    {DType::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8},
    {DType::kI16, "I16", 16},
    {DType::kU16, "U16", 16},
    {DType::kF16, "F16", 16},
    {DType::kBF16, "BF16", 16},
    {DType::kI32, "I32", 32},
    {DType::kU32, "U32", 32},
    {DType::kF32, "F32", 32},
    {DType::kF64, "F64", 64},
    {DType::kI64, "I64", 64},
    {DType::kU64, "U64", 64},
    {DType::kC64, "C64", 64},
    {DType::kF4, "F4", 4},
    {DType::kF6E2M3, "F6_E2M3", 6},
    {DType::kF6E3M2, "F6_E3M2", 6},
    {DType::kQ4_0, "Q4_0", 8 * 18, 32},
    {DType::kQ4_1, "Q4_1", 8 * 20, 32},
    {DType::kQ5_0, "Q5_0", 8 * 22, 32},
    {DType::kQ5_1, "Q5_1", 8 * 24, 32},
    {DType::kQ8_0, "Q8_0", 8 * 34, 32},
    {DType::kQ4K, "Q4_K", 8 * 144, 256},
    {DType::kQ5K, "Q5_K", 8 * 176, 256},
    {DType::kQ6K, "Q6_K", 8 * 210, 256},
}};

const Entry& entry_of(DType dtype) { return kEntries[static_cast<size_t>(dtype)]; }

constexpr bool in_order() {
  for (size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<size_t>(kEntries[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_order(), "kEntries is indexed by DType");

}  // namespace

std::string_view dtype_name(DType dtype) { return entry_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name && entry.elements == 1) return entry.dtype;
  }
  return std::nullopt;
}

size_t dtype_bits(DType dtype) { return entry_of(dtype).elements == 1 ? entry_of(dtype).bits : 0; }

DTypeBlock dtype_block(DType dtype) { return {entry_of(dtype).elements, entry_of(dtype).bits}; }

bool is_float_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64 || is_block_type(dtype);
}

}  // namespace inlay
