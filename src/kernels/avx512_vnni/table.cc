#include "kernels/avx512/vec.h"

#include "kernels/avx512_vnni/attention_codes.inl.h"
#include "kernels/generic/format.inl.h"
#include "kernels/generic/gemm_groups.inl.h"
#include "kernels/generic/gemm_levels.inl.h"

namespace inlay {
namespace {

// Two weights a byte. Kept in the upper four bits they are whole bytes without a sign extension, sixteen times as large.
struct Nibbles : Bytes {
  static constexpr int kRows = kTileRows;  // 24 accumulators, 3 of weights, 3 zeros, a mask and the broadcast: all 32 registers
  static constexpr float kWeightUnit = 1.0F / 16;
  static Right packed(const char* p) { return right(p); }
  static Right low_weight(Right x) { return _mm512_and_si512(_mm512_slli_epi16(x, 4), _mm512_set1_epi8(-16)); }
  static Right high_weight(Right x) { return _mm512_and_si512(x, _mm512_set1_epi8(-16)); }
  static Right low_code(Right x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
  static Right high_code(Right x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15)); }
  static Right less_zero(Right code, Right zero) { return _mm512_sub_epi8(code, zero); }
  static Right zero(const uint8_t* p) {
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm512_mullo_epi32(wide, _mm512_set1_epi32(0x01010101));
  }
};

// Levels of 4 bits to int8, 64 at a time; generic/levels_256.inl.h says how it multiplies.
struct Levels512 {
  static constexpr int kBytes = 64;
  struct Factor {
    __m512i low, high;
  };

  template <int kStep>
  static Factor factor(const int8_t* p) {
    static_assert(kStep == 4);
    const __m512i wide = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m512i words = _mm512_or_si512(_mm512_slli_epi32(wide, 16), _mm512_and_si512(wide, _mm512_set1_epi32(0xffff)));
    return {_mm512_slli_epi16(words, 4), _mm512_slli_epi16(words, 12)};
  }

  static __m512i scaled(__m512i levels, const Factor& factor) {
    const __m512i low = _mm512_mulhrs_epi16(_mm512_slli_epi16(levels, 8), factor.low);
    const __m512i upper = _mm512_andnot_si512(_mm512_set1_epi16(255), levels);
    const __m512i high = _mm512_add_epi16(_mm512_mulhrs_epi16(upper, factor.high), _mm512_set1_epi16(128));
    return _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaaULL, low, high);
  }

  static void decode(const char* codes, const Factor& factor, int8_t* low, int8_t* high) {
    const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kLevels)));
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i x = _mm512_loadu_si512(codes);
    const __m512i first = _mm512_shuffle_epi8(table, _mm512_and_si512(x, mask));
    const __m512i second = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(x, 4), mask));
    _mm512_storeu_si512(low, scaled(first, factor));
    _mm512_storeu_si512(high, scaled(second, factor));
  }
};

}  // namespace

void fill_avx512_vnni(Kernels& table) {
  set_int8_and_levels<Bytes, Levels512, uint8_t>(table);
  set_int4<Nibbles, uint8_t>(table);
  table.attention_codes = attention_codes;
  table.attention_codes_bytes = attention_codes_bytes;
}

}  // namespace inlay
