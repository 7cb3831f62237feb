// Eight floats at a time. Included by the AVX2 folders only, each of which gets its own copy in an unnamed namespace.
#pragma once

#include <immintrin.h>
#include <stdint.h>

namespace inlay {
namespace {

using V = __m256;
constexpr int kLanes = 8;

// Tile of C in registers: 6 rows x 2 vectors = 12 accumulators, + 2 for B, + 1 for the broadcast of A = 15 of 16 ymm.
constexpr int kTileRows = 6;
constexpr int kTileVectors = 2;

inline V vzero() { return _mm256_setzero_ps(); }
inline V vset(float x) { return _mm256_set1_ps(x); }
inline V vload(const float* p) { return _mm256_loadu_ps(p); }
inline void vstore(float* p, V x) { _mm256_storeu_ps(p, x); }
inline __m256i first_lanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline V vload_first(const float* p, int count) { return _mm256_maskload_ps(p, first_lanes(count)); }
inline void vstore_first(float* p, V x, int count) { _mm256_maskstore_ps(p, first_lanes(count), x); }
// Lanes from `count` on become `fill`.
inline V vkeep_first(V x, int count, V fill) { return _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(first_lanes(count))); }
inline V vadd(V a, V b) { return _mm256_add_ps(a, b); }
inline V vsub(V a, V b) { return _mm256_sub_ps(a, b); }
inline V vmul(V a, V b) { return _mm256_mul_ps(a, b); }
inline V vdiv(V a, V b) { return _mm256_div_ps(a, b); }
inline V vfma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
// The second operand wins when either is NaN, so put the value that must survive second.
inline V vmax(V a, V b) { return _mm256_max_ps(a, b); }
inline V vmin(V a, V b) { return _mm256_min_ps(a, b); }
inline V vround(V x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// 2^n for whole n in [-126, 127], by writing the exponent.
inline V power_of_two(V n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}
// Exponents beyond which 2^x is zero or infinite anyway, so that vscale need not care. NaN stays NaN.
inline V vbound_exponent(V x) { return vmin(vset(252.0F), vmax(vset(-252.0F), x)); }
// x * 2^n for whole n in [-252, 252]; goes to zero and infinity, in two steps since 2^n alone may not be a float.
inline V vscale(V x, V n) {
  const V half = _mm256_round_ps(vmul(n, vset(0.5F)), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  return vmul(vmul(x, power_of_two(half)), power_of_two(vsub(n, half)));
}
inline __m128 fold_add(V x) { return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)); }
inline float vsum(V x) {
  __m128 s = fold_add(x);
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float vmax_all(V x) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
inline float vmin_all(V x) {
  __m128 s = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_min_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_min_ss(s, _mm_movehdup_ps(s)));
}

inline float vfirst(V x) { return _mm256_cvtss_f32(x); }
// Rows become columns: pairs, then quads of 32-bit words within 128 bits, then the 128-bit halves.
inline void vtranspose(V (&x)[kLanes]) {
  V t[kLanes];
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 2) {
    t[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < kLanes; i += 4) {
    x[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    x[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    x[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    x[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; ++i) x[i] = t[i];
}

inline V vfrom_int(__m256i x) { return _mm256_cvtepi32_ps(x); }
inline V vload_int(const int32_t* p) { return vfrom_int(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }

// Round to nearest even, NaN stays NaN.
inline void vstore_bf16(uint16_t* p, V x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}
inline V vload_bf16(const uint16_t* p) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
inline V vload_fp16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }

// Whole numbers in 0..255 as 16-bit integers or as bytes.
inline __m128i codes16(V x) {
  const __m256i whole = _mm256_cvtps_epi32(x);
  return _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
}
inline void vstore_code(int16_t* p, V x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), codes16(x)); }
inline void vstore_code(uint8_t* p, V x) {
  const __m128i codes = codes16(x);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(codes, codes));
}

}  // namespace
}  // namespace inlay
