#include "kernels/neon/vec.h"

#include "kernels/generic/format.inl.h"

namespace inlay {
namespace {

// Four bytes a step: unsigned activations times signed weights, exact in 32 bits.
struct Bytes {
  using Sum = int32x4_t;
  using Left = uint8x16_t;
  using Right = int8x16_t;
  static constexpr int kStep = 4;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 4 * kLanes;
  static Sum start(const float*) { return vdupq_n_s32(0); }
  static Left left(const char* p) {
    uint32_t quad;
    memcpy(&quad, p, sizeof(quad));
    return vreinterpretq_u8_u32(vdupq_n_u32(quad));
  }
  static Right right(const char* p) { return vld1q_s8(reinterpret_cast<const int8_t*>(p)); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return vusdotq_s32(sum, a, b); }
  static void store(float* p, Sum sum) { memcpy(p, &sum, sizeof(sum)); }
};

}  // namespace

void fill_neon_i8mm(Kernels& table) { set_int8<Bytes, uint8_t>(table); }

}  // namespace inlay
