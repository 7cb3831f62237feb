// Levels of 4 bits to int8, 32 at a time, for every table of x86. Included after a vec.h.
#pragma once

#include "kernels/levels.h"

namespace inlay {
namespace {

struct Levels256 {
  static constexpr int kBytes = 32;
  // Words of the factors of a byte's column, times 2^4 and times 2^12.
  struct Factor {
    __m256i low, high;
  };

  // Of kBytes / kStep columns, each kStep bytes wide.
  template <int kStep>
  static Factor factor(const int8_t* p) {
    __m256i words;
    if constexpr (kStep == 2) {
      words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    } else {
      const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
      words = _mm256_or_si256(_mm256_slli_epi32(wide, 16), _mm256_and_si256(wide, _mm256_set1_epi32(0xffff)));
    }
    return {_mm256_slli_epi16(words, 4), _mm256_slli_epi16(words, 12)};
  }

  // (level * factor + 4) >> 3 of each byte. The lower byte of a word goes up by 8 bits, is multiplied by 16 * factor and comes
  // back rounded; the upper byte is multiplied where it is and rounded by what is added below it.
  static __m256i scaled(__m256i levels, const Factor& factor) {
    const __m256i low = _mm256_mulhrs_epi16(_mm256_slli_epi16(levels, 8), factor.low);
    const __m256i upper = _mm256_andnot_si256(_mm256_set1_epi16(255), levels);
    const __m256i high = _mm256_add_epi16(_mm256_mulhrs_epi16(upper, factor.high), _mm256_set1_epi16(128));
    return _mm256_blendv_epi8(low, high, _mm256_set1_epi16(-256));
  }

  static void decode(const char* codes, const Factor& factor, int8_t* low, int8_t* high) {
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kLevels)));
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
    const __m256i first = _mm256_shuffle_epi8(table, _mm256_and_si256(x, mask));
    const __m256i second = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), mask));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(low), scaled(first, factor));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(high), scaled(second, factor));
  }
};

}  // namespace
}  // namespace inlay
