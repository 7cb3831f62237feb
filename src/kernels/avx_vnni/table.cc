#include "kernels/avx2/vec.h"

#include "kernels/generic/format.inl.h"

namespace inlay {
namespace {

// Four bytes a step: unsigned activations times signed weights, exact in 32 bits.
struct Bytes {
  using Sum = __m256i;
  using Left = __m256i;
  using Right = __m256i;
  static constexpr int kStep = 4;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 4 * kLanes;
  static Sum start(const float*) { return _mm256_setzero_si256(); }
  static Left left(const char* p) {
    int quad;
    memcpy(&quad, p, sizeof(quad));
    return _mm256_set1_epi32(quad);
  }
  static Right right(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return _mm256_dpbusd_epi32(sum, a, b); }
  static void store(float* p, Sum sum) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), sum); }
};

}  // namespace

void fill_avx_vnni(Kernels& table) { set_int8<Bytes, uint8_t>(table); }

}  // namespace inlay
