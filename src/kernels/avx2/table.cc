#include "kernels/avx2/vec.h"

#include "kernels/generic/float_table.inl.h"

namespace inlay {
namespace {

// Pairs of 16-bit integers, multiplied and summed exactly: the byte instruction of AVX2 would saturate.
struct WideInt {
  using Sum = __m256i;
  using Left = __m256i;
  using Right = __m256i;
  static constexpr int kStep = 2;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 2 * kLanes;
  static Sum start(const float*) { return _mm256_setzero_si256(); }
  static Left left(const char* p) {
    int pair;
    memcpy(&pair, p, sizeof(pair));
    return _mm256_set1_epi32(pair);
  }
  static Right right(const char* p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
  static void store(float* p, Sum sum) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), sum); }
};

}  // namespace

void fill_avx2(Kernels& table) {
  fill_float(table);
  set_int8<WideInt, int16_t>(table);
}

}  // namespace inlay
