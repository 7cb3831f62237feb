#include "kernels/neon/vec.h"

#include "kernels/generic/format.inl.h"
#include "kernels/generic/gemm_groups.inl.h"
#include "kernels/generic/gemm_levels.inl.h"
#include "kernels/neon/levels.h"

namespace inlay {
namespace {

// Four signed bytes a step, exact in 32 bits. The instruction has no unsigned times signed form: codes lie in -128..127.
struct SignedBytes {
  using Sum = int32x4_t;
  using Left = int8x16_t;
  using Right = int8x16_t;
  static constexpr int kStep = 4;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 4 * kLanes;
  static Sum start(const float*) { return vdupq_n_s32(0); }
  static Left left(const char* p) {
    int32_t quad;
    memcpy(&quad, p, sizeof(quad));
    return vreinterpretq_s8_s32(vdupq_n_s32(quad));
  }
  static Right right(const char* p) { return vld1q_s8(reinterpret_cast<const int8_t*>(p)); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return vdotq_s32(sum, a, b); }
  static void store(float* p, Sum sum) { memcpy(p, &sum, sizeof(sum)); }
};

// Two weights a byte. Kept in the upper four bits they are whole bytes without a sign extension, sixteen times as large.
struct Nibbles : SignedBytes {
  static constexpr int kRows = kTileRows;
  static constexpr float kWeightUnit = 1.0F / 16;
  static Right packed(const char* p) { return right(p); }
  static Right low_weight(Right x) { return vshlq_n_s8(x, 4); }
  static Right high_weight(Right x) { return vandq_s8(x, vdupq_n_s8(-16)); }
  static Right low_code(Right x) { return vandq_s8(x, vdupq_n_s8(15)); }
  static Right high_code(Right x) { return vandq_s8(vshrq_n_s8(x, 4), vdupq_n_s8(15)); }
  static Right less_zero(Right code, Right zero) { return vsubq_s8(code, zero); }
  static Right zero(const uint8_t* p) {
    uint32_t quad;
    memcpy(&quad, p, sizeof(quad));
    const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(quad));
    const uint32x4_t wide = vmovl_u16(vget_low_u16(vmovl_u8(bytes)));
    return vreinterpretq_s8_u32(vmulq_n_u32(wide, 0x01010101U));
  }
};

}  // namespace

void fill_neon_dot(Kernels& table) {
  set_int8_and_levels<SignedBytes, LevelsNeon<16>, int8_t>(table);
  set_int4<Nibbles, int8_t>(table);
}

}  // namespace inlay
