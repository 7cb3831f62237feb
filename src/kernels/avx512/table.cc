#include "kernels/avx512/vec.h"

#include "kernels/generic/float_table.inl.h"

namespace inlay {
namespace {

// Pairs of 16-bit integers, multiplied and summed exactly: without VNNI the byte instruction would saturate.
struct WideInt {
  using Sum = __m512i;
  using Left = __m512i;
  using Right = __m512i;
  static constexpr int kStep = 2;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 2 * kLanes;
  static Sum start(const float*) { return _mm512_setzero_si512(); }
  static Left left(const char* p) {
    int pair;
    memcpy(&pair, p, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  static Right right(const char* p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }
  static void store(float* p, Sum sum) { _mm512_storeu_si512(p, sum); }
};

}  // namespace

void fill_avx512(Kernels& table) {
  fill_float(table);
  set_int8<WideInt, int16_t>(table);
}

}  // namespace inlay
