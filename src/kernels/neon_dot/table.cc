#include "kernels/neon/vec.h"

#include "kernels/generic/format.inl.h"

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

}  // namespace

void fill_neon_dot(Kernels& table) { set_int8<SignedBytes, int8_t>(table); }

}  // namespace inlay
