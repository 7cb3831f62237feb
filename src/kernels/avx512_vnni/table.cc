#include "kernels/avx512/vec.h"

#include "kernels/avx512_vnni/attention_codes.inl.h"
#include "kernels/generic/format.inl.h"
#include "kernels/generic/gemm_groups.inl.h"

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

}  // namespace

void fill_avx512_vnni(Kernels& table) {
  set_int8<Bytes, uint8_t>(table);
  set_int4<Nibbles, uint8_t>(table);
  table.attention_codes = attention_codes;
  table.attention_codes_bytes = attention_codes_bytes;
}

}  // namespace inlay
