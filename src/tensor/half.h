// 16-bit floats as bits. bf16 is the upper half of a float32; fp16 is IEEE binary16. Conversions to 16 bits round to nearest
// even.
#pragma once

#include <bit>
#include <cstdint>

namespace inlay {

inline float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// NaN stays NaN (quiet); overflow goes to infinity as rounding says.
inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

inline constexpr float kFp16Max = 65504.0F;  // the largest finite fp16

float fp16_to_float(uint16_t bits);
uint16_t float_to_fp16(float value);

}  // namespace inlay
