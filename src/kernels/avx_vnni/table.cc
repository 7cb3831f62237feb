#include "kernels/avx2/vec.h"

#include "kernels/generic/format.inl.h"
#include "kernels/generic/gemm_groups.inl.h"
#include "kernels/generic/gemm_levels.inl.h"
#include "kernels/generic/levels_256.inl.h"

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

// Two weights a byte. Kept in the upper four bits they are whole bytes without a sign extension, sixteen times as large.
struct Nibbles : Bytes {
  static constexpr int kRows = 5;  // 10 accumulators, 2 of weights, 2 zeros, a mask and the broadcast: all 16 registers
  static constexpr float kWeightUnit = 1.0F / 16;
  static Right packed(const char* p) { return right(p); }
  static Right low_weight(Right x) { return _mm256_and_si256(_mm256_slli_epi16(x, 4), _mm256_set1_epi8(-16)); }
  static Right high_weight(Right x) { return _mm256_and_si256(x, _mm256_set1_epi8(-16)); }
  static Right low_code(Right x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static Right high_code(Right x) { return _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15)); }
  static Right less_zero(Right code, Right zero) { return _mm256_sub_epi8(code, zero); }
  static Right zero(const uint8_t* p) {
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm256_mullo_epi32(wide, _mm256_set1_epi32(0x01010101));
  }
};

}  // namespace

void fill_avx_vnni(Kernels& table) {
  set_int8_and_levels<Bytes, Levels256, uint8_t>(table);
  set_int4<Nibbles, uint8_t>(table);
}

}  // namespace inlay
