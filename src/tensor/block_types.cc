#include "tensor/block_types.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tensor/half.h"

namespace inlay {
namespace {

uint16_t load_u16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] | (bytes[1] << 8)); }
float load_half(const uint8_t* bytes) { return fp16_to_float(load_u16(bytes)); }

// 32 elements: a scale, in the types "_1" a minimum, in the 5-bit types the fifth bits, and nibbles. Byte j holds element j
// below and element j + 16 above.
void decode_small(const uint8_t* block, bool has_minimum, bool has_fifth_bits, std::span<float> out) {
  const float scale = load_half(block);
  const uint8_t* next = block + 2;
  const float minimum = has_minimum ? load_half(next) : 0.0F;
  if (has_minimum) next += 2;
  uint32_t fifth = 0;
  if (has_fifth_bits) {
    fifth = load_u16(next) | static_cast<uint32_t>(load_u16(next + 2)) << 16;
    next += 4;
  }
  const int zero = has_minimum ? 0 : (has_fifth_bits ? 16 : 8);
  for (int i = 0; i < 32; ++i) {
    const int nibble = i < 16 ? next[i] & 15 : next[i - 16] >> 4;
    const int value = nibble | static_cast<int>((fifth >> i) & 1U) << 4;
    out[i] = scale * static_cast<float>(value - zero) + minimum;
  }
}

void decode_q8_0(const uint8_t* block, std::span<float> out) {
  const float scale = load_half(block);
  for (int i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// Scale and minimum of each of the 8 groups of 32 elements in a block of 256: 6 bits each, packed into 12 bytes. The first four
// of both lie in the low bits of bytes 0-7; of the others, the low nibbles lie in bytes 8-11 and the top bits above the first.
struct GroupScale {
  int scale = 0;
  int minimum = 0;
};
GroupScale group_scale(const uint8_t* packed, int group) {
  if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
  return {(packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4, (packed[group + 4] >> 4) | (packed[group] >> 6) << 4};
}

// 256 elements in 8 groups. Groups 2p and 2p + 1 share 32 bytes: low and high nibbles. `fifth` holds bit g of byte l for
// element l of group g; null in the 4-bit type.
void decode_groups(const uint8_t* block, const uint8_t* fifth, const uint8_t* nibbles, std::span<float> out) {
  const float scale = load_half(block);
  const float minimum = load_half(block + 2);
  for (int group = 0; group < 8; ++group) {
    const GroupScale packed = group_scale(block + 4, group);
    const float group_factor = scale * static_cast<float>(packed.scale);
    const float group_minimum = minimum * static_cast<float>(packed.minimum);
    const uint8_t* bytes = nibbles + group / 2 * 32;
    for (int l = 0; l < 32; ++l) {
      int value = group % 2 == 0 ? bytes[l] & 15 : bytes[l] >> 4;
      if (fifth != nullptr) value |= ((fifth[l] >> group) & 1) << 4;
      out[group * 32 + l] = group_factor * static_cast<float>(value) - group_minimum;
    }
  }
}

// 256 elements in two halves of four groups of 32; 64 bytes of low nibbles and 32 bytes of upper bit pairs a half, and one
// signed scale for every 16 elements.
void decode_q6_k(const uint8_t* block, std::span<float> out) {
  const float scale = load_half(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int group = i % 128 / 32;
    const int l = i % 32;
    const uint8_t low_byte = block[half * 64 + group % 2 * 32 + l];
    const int low = group < 2 ? low_byte & 15 : low_byte >> 4;
    const int high = (block[128 + half * 32 + l] >> (2 * group)) & 3;
    const float factor = scale * static_cast<float>(static_cast<int8_t>(block[192 + i / 16]));
    out[i] = factor * static_cast<float>((low | high << 4) - 32);
  }
}

}  // namespace

void decode_block(DType dtype, const std::byte* block, std::span<float> out) {
  INLAY_CHECK(out.size() == dtype_block(dtype).elements, "room for one block");
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(block);
  switch (dtype) {
    case DType::kQ4_0: return decode_small(bytes, false, false, out);
    case DType::kQ4_1: return decode_small(bytes, true, false, out);
    case DType::kQ5_0: return decode_small(bytes, false, true, out);
    case DType::kQ5_1: return decode_small(bytes, true, true, out);
    case DType::kQ8_0: return decode_q8_0(bytes, out);
    case DType::kQ4K: return decode_groups(bytes, nullptr, bytes + 16, out);
    case DType::kQ5K: return decode_groups(bytes, bytes + 16, bytes + 48, out);
    case DType::kQ6K: return decode_q6_k(bytes, out);
    default: INLAY_CHECK(false, "a type with blocks");
  }
}

}  // namespace inlay
