// Levels of 4 bits to int8 on NEON. Included after a vec.h.
#pragma once

#include "kernels/levels.h"

namespace inlay {
namespace {

// (level * factor + 4) >> 3 of eight codes.
inline int8x8_t scaled_levels(uint8x8_t codes, int8x8_t factor) {
  const int8x16_t table = vld1q_s8(kLevels);
  return vrshrn_n_s16(vmull_s8(vqtbl1_s8(table, codes), factor), 3);
}

// kBytes is 4, for panels of one k a step, or 16, for those of four.
template <int kVectorBytes>
struct LevelsNeon {
  static constexpr int kBytes = kVectorBytes;
  struct Factor {
    int8x8_t low, high;
  };

  template <int kStep>
  static Factor factor(const int8_t* p) {
    uint32_t quad;
    memcpy(&quad, p, sizeof(quad));
    const uint8x8_t four = vreinterpret_u8_u32(vdup_n_u32(quad));
    if constexpr (kStep == 1) return {vreinterpret_s8_u8(four), vreinterpret_s8_u8(four)};
    // Each factor four times over.
    const uint8x8x2_t twice = vzip_u8(four, four);
    const uint8x8x2_t often = vzip_u8(twice.val[0], twice.val[0]);
    return {vreinterpret_s8_u8(often.val[0]), vreinterpret_s8_u8(often.val[1])};
  }

  static void decode(const char* codes, const Factor& factor, int8_t* low, int8_t* high) {
    if constexpr (kBytes == 4) {
      uint32_t quad;
      memcpy(&quad, codes, sizeof(quad));
      const uint8x8_t x = vreinterpret_u8_u32(vdup_n_u32(quad));
      const uint32_t first = vget_lane_u32(vreinterpret_u32_s8(scaled_levels(vand_u8(x, vdup_n_u8(15)), factor.low)), 0);
      const uint32_t second = vget_lane_u32(vreinterpret_u32_s8(scaled_levels(vshr_n_u8(x, 4), factor.low)), 0);
      memcpy(low, &first, sizeof(first));
      memcpy(high, &second, sizeof(second));
    } else {
      const uint8x16_t x = vld1q_u8(reinterpret_cast<const uint8_t*>(codes));
      const uint8x16_t first = vandq_u8(x, vdupq_n_u8(15));
      const uint8x16_t second = vshrq_n_u8(x, 4);
      vst1q_s8(low,
               vcombine_s8(scaled_levels(vget_low_u8(first), factor.low), scaled_levels(vget_high_u8(first), factor.high)));
      vst1q_s8(high,
               vcombine_s8(scaled_levels(vget_low_u8(second), factor.low), scaled_levels(vget_high_u8(second), factor.high)));
    }
  }
};

}  // namespace
}  // namespace inlay
