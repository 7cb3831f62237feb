// Four floats at a time. Included by the NEON folders only, each of which gets its own copy in an unnamed namespace.
#pragma once

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

namespace inlay {
namespace {

using V = float32x4_t;
constexpr int kLanes = 4;

// Tile of C in registers: 8 rows x 3 vectors = 24 accumulators, + 3 for B, + 1 for the broadcast of A = 28 of 32.
constexpr int kTileRows = 8;
constexpr int kTileVectors = 3;

inline V vzero() { return vdupq_n_f32(0); }
inline V vset(float x) { return vdupq_n_f32(x); }
inline V vload(const float* p) { return vld1q_f32(p); }
inline void vstore(float* p, V x) { vst1q_f32(p, x); }
inline V vload_first(const float* p, int count) {
  float lanes[kLanes] = {};
  memcpy(lanes, p, static_cast<size_t>(count) * sizeof(float));
  return vld1q_f32(lanes);
}
inline void vstore_first(float* p, V x, int count) {
  float lanes[kLanes];
  vst1q_f32(lanes, x);
  memcpy(p, lanes, static_cast<size_t>(count) * sizeof(float));
}
// Lanes from `count` on become `fill`.
inline V vkeep_first(V x, int count, V fill) {
  static constexpr int32_t kLane[kLanes] = {0, 1, 2, 3};
  return vbslq_f32(vcltq_s32(vld1q_s32(kLane), vdupq_n_s32(count)), x, fill);
}
inline V vadd(V a, V b) { return vaddq_f32(a, b); }
inline V vsub(V a, V b) { return vsubq_f32(a, b); }
inline V vmul(V a, V b) { return vmulq_f32(a, b); }
inline V vdiv(V a, V b) { return vdivq_f32(a, b); }
inline V vfma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
// NaN if either is; the other tables keep the second operand, so callers put the value that must survive second.
inline V vmax(V a, V b) { return vmaxq_f32(a, b); }
inline V vmin(V a, V b) { return vminq_f32(a, b); }
inline V vround(V x) { return vrndnq_f32(x); }
// 2^n for whole n in [-126, 127], by writing the exponent.
inline V power_of_two(V n) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23)); }
// Exponents beyond which 2^x is zero or infinite anyway, so that vscale need not care. NaN stays NaN.
inline V vbound_exponent(V x) { return vmin(vset(252.0F), vmax(vset(-252.0F), x)); }
// x * 2^n for whole n in [-252, 252]; goes to zero and infinity, in two steps since 2^n alone may not be a float.
inline V vscale(V x, V n) {
  const V half = vrndmq_f32(vmul(n, vset(0.5F)));
  return vmul(vmul(x, power_of_two(half)), power_of_two(vsub(n, half)));
}
inline float vsum(V x) { return vaddvq_f32(x); }
inline float vmax_all(V x) { return vmaxvq_f32(x); }
inline float vmin_all(V x) { return vminvq_f32(x); }

inline float vfirst(V x) { return vgetq_lane_f32(x, 0); }
// Rows become columns.
inline void vtranspose(V (&x)[kLanes]) {
  const float32x4x2_t low = vtrnq_f32(x[0], x[1]);
  const float32x4x2_t high = vtrnq_f32(x[2], x[3]);
  x[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
  x[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
  x[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
  x[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
}

inline V vfrom_int(int32x4_t x) { return vcvtq_f32_s32(x); }
inline V vload_int(const int32_t* p) { return vfrom_int(vld1q_s32(p)); }

// Round to nearest even, NaN stays NaN.
inline void vstore_bf16(uint16_t* p, V x) {
  const uint32x4_t bits = vreinterpretq_u32_f32(x);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  vst1_u16(p, vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16));
}
inline V vload_bf16(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
inline V vload_fp16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }

// Whole numbers in -128..255 as bytes, or as 16-bit integers for the tables that multiply those.
inline void vstore_code(int16_t* p, V x) { vst1_s16(p, vmovn_s32(vcvtnq_s32_f32(x))); }
inline void vstore_code(uint8_t* p, V x) {
  const int16x4_t codes = vmovn_s32(vcvtnq_s32_f32(x));
  const uint8x8_t bytes = vreinterpret_u8_s8(vmovn_s16(vcombine_s16(codes, codes)));
  memcpy(p, &bytes, kLanes);
}
inline void vstore_code(int8_t* p, V x) { vstore_code(reinterpret_cast<uint8_t*>(p), x); }

}  // namespace
}  // namespace inlay
