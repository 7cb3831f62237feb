#include "kernels/neon/vec.h"

#include "kernels/generic/float_table.inl.h"

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

}  // namespace

void fill_neon(Kernels& table) {
  fill_float(table);
  set_int8<WideInt, int16_t>(table);
}

}  // namespace inlay
