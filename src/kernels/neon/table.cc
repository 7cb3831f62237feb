#include "kernels/neon/vec.h"

#include "kernels/generic/float_table.inl.h"
#include "kernels/generic/gemm_groups.inl.h"
#include "kernels/generic/gemm_levels.inl.h"
#include "kernels/neon/levels.h"

namespace inlay {
namespace {

// 16-bit integers multiplied and summed exactly, one k a step: the widening multiply-add takes a vector of columns at once.
struct WideInt {
  using Sum = int32x4_t;
  using Left = int16x4_t;
  using Right = int16x4_t;
  static constexpr int kStep = 1;
  static constexpr int kLeftBytes = 2;
  static constexpr int kRightBytes = kLanes;
  static Sum start(const float*) { return vdupq_n_s32(0); }
  static Left left(const char* p) {
    int16_t code;
    memcpy(&code, p, sizeof(code));
    return vdup_n_s16(code);
  }
  static Right right(const char* p) {
    uint32_t quad;
    memcpy(&quad, p, sizeof(quad));
    return vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(quad))));
  }
  static Sum multiply_add(Sum sum, Left a, Right b) { return vmlal_s16(sum, a, b); }
  static void store(float* p, Sum sum) { memcpy(p, &sum, sizeof(sum)); }
};

// Two weights a byte, one k a step. Kept in the upper four bits they are whole bytes, sixteen times as large.
struct Nibbles : WideInt {
  static constexpr int kRows = kTileRows;
  static constexpr float kWeightUnit = 1.0F / 16;
  static int8x8_t bytes(Right x) { return vmovn_s16(vcombine_s16(x, x)); }
  static Right wide(int8x8_t x) { return vget_low_s16(vmovl_s8(x)); }
  static Right packed(const char* p) { return right(p); }
  static Right low_weight(Right x) { return wide(vshl_n_s8(bytes(x), 4)); }
  static Right high_weight(Right x) { return vand_s16(x, vdup_n_s16(-16)); }
  static Right low_code(Right x) { return vand_s16(x, vdup_n_s16(15)); }
  static Right high_code(Right x) { return vand_s16(vshr_n_s16(x, 4), vdup_n_s16(15)); }
  static Right less_zero(Right code, Right zero) { return vsub_s16(code, zero); }
  static Right zero(const uint8_t* p) { return right(reinterpret_cast<const char*>(p)); }
};

}  // namespace

void fill_neon(Kernels& table) {
  fill_float(table);
  set_int8_and_levels<WideInt, LevelsNeon<4>, int16_t>(table);
  set_int4<Nibbles, int16_t>(table);
}

}  // namespace inlay
