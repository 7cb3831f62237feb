// Sixteen floats at a time. Included by the AVX-512 folders only, each of which gets its own copy in an unnamed namespace.
#pragma once

#include <immintrin.h>
#include <stdint.h>

namespace inlay {
namespace {

using V = __m512;
constexpr int kLanes = 16;

// Tile of C in registers: 8 rows x 3 vectors = 24 accumulators, + 3 for B, + 1 for the broadcast of A = 28 of 32 zmm.
constexpr int kTileRows = 8;
constexpr int kTileVectors = 3;

inline V vzero() { return _mm512_setzero_ps(); }
inline V vset(float x) { return _mm512_set1_ps(x); }
inline V vload(const float* p) { return _mm512_loadu_ps(p); }
inline void vstore(float* p, V x) { _mm512_storeu_ps(p, x); }
inline __mmask16 first_lanes(int count) { return static_cast<__mmask16>((1U << count) - 1U); }
inline V vload_first(const float* p, int count) { return _mm512_maskz_loadu_ps(first_lanes(count), p); }
inline void vstore_first(float* p, V x, int count) { _mm512_mask_storeu_ps(p, first_lanes(count), x); }
// Lanes from `count` on become `fill`.
inline V vkeep_first(V x, int count, V fill) { return _mm512_mask_blend_ps(first_lanes(count), fill, x); }
inline V vadd(V a, V b) { return _mm512_add_ps(a, b); }
inline V vsub(V a, V b) { return _mm512_sub_ps(a, b); }
inline V vmul(V a, V b) { return _mm512_mul_ps(a, b); }
inline V vdiv(V a, V b) { return _mm512_div_ps(a, b); }
inline V vfma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
// The second operand wins when either is NaN, so put the value that must survive second.
inline V vmax(V a, V b) { return _mm512_max_ps(a, b); }
inline V vmin(V a, V b) { return _mm512_min_ps(a, b); }
inline V vround(V x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// The instruction below takes any exponent: an infinite one gives 0 or infinity whatever x is, even the NaN of inf - inf.
inline V vbound_exponent(V x) { return x; }
// x * 2^n for whole n; goes to zero and infinity without wrapping.
inline V vscale(V x, V n) { return _mm512_scalef_ps(x, n); }
inline float vsum(V x) { return _mm512_reduce_add_ps(x); }
inline float vmax_all(V x) { return _mm512_reduce_max_ps(x); }
inline float vmin_all(V x) { return _mm512_reduce_min_ps(x); }

inline V vabs(V x) { return _mm512_abs_ps(x); }
// Lane by lane, the entry of the table that the lowest four bits of the index say.
#define INLAY_LOOKUP_16
inline V vlookup(V index, V table) { return _mm512_permutexvar_ps(_mm512_castps_si512(index), table); }
inline float vfirst(V x) { return _mm512_cvtss_f32(x); }
// Rows become columns: pairs, then quads of 32-bit words within 128 bits, then the 128-bit parts.
inline void vtranspose(V (&x)[kLanes]) {
  V t[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    x[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    x[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    x[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    x[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    x[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

inline V vfrom_int(__m512i x) { return _mm512_cvtepi32_ps(x); }
inline V vload_int(const int32_t* p) { return vfrom_int(_mm512_loadu_si512(p)); }

// Round to nearest even, NaN stays NaN.
inline __m256i to_bf16_bits(V x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_blend_epi32(is_nan, rounded, quiet), 16));
}
#if !defined(__AVX512BF16__)
inline void vstore_bf16(uint16_t* p, V x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bf16_bits(x)); }
#else
inline void vstore_bf16(uint16_t* p, V x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}
#endif
inline V vload_bf16(const uint16_t* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
inline V vload_fp16(const uint16_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }

// Whole numbers in 0..255 as bytes, or as 16-bit integers for the tables that multiply those.
inline void vstore_code(uint8_t* p, V x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
}
inline void vstore_code(int16_t* p, V x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(x)));
}

}  // namespace
}  // namespace inlay
