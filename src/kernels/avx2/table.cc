#include "kernels/avx2/vec.h"

#include "kernels/generic/float_table.inl.h"
#include "kernels/generic/gemm_groups.inl.h"
#include "kernels/generic/gemm_levels.inl.h"
#include "kernels/generic/levels_256.inl.h"

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
// A loop within the loop makes this one 10 % slower.
template <>
constexpr int kFetchSteps<WideInt> = 1;

// Four bytes a step, by the instruction that sums pairs of products in 16 bits: 2 * 255 * 15 fits, where 8-bit weights would
// not.
struct Nibbles {
  using Sum = __m256i;
  using Left = __m256i;
  using Right = __m256i;
  static constexpr int kStep = 4;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 4 * kLanes;
  static constexpr int kRows =
      4;  // 8 accumulators, 2 of weights, 2 zeros, 2 constants, the broadcast and a product: all 16 registers
  static constexpr float kWeightUnit = 1;
  static Sum start(const float*) { return _mm256_setzero_si256(); }
  static Left left(const char* p) {
    int quad;
    memcpy(&quad, p, sizeof(quad));
    return _mm256_set1_epi32(quad);
  }
  static Right right(const char* p) { return packed(p); }
  static Sum multiply_add(Sum sum, Left a, Right b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
  }
  static Right packed(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Right low_code(Right x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static Right high_code(Right x) { return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15)); }
  // Two's complement of four bits, looked up.
  static Right weight(Right code) {
    const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), code);
  }
  static Right low_weight(Right x) { return weight(low_code(x)); }
  static Right high_weight(Right x) { return weight(high_code(x)); }
  static Right less_zero(Right code, Right zero) { return _mm256_sub_epi8(code, zero); }
  static Right zero(const uint8_t* p) {
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm256_mullo_epi32(wide, _mm256_set1_epi32(0x01010101));
  }
};

}  // namespace

void fill_avx2(Kernels& table) {
  fill_float(table);
  set_int8_and_levels<WideInt, Levels256, int16_t>(table);
  set_int4<Nibbles, uint8_t>(table);
}

}  // namespace inlay
