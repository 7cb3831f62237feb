// Weights of the softmax in codes of 8 bits. Included after attention_codes_pack.inl.h.
//
// The keys of a block share a scale: the heaviest of them has 255, and its logarithm is kept to weigh the block against others.
#pragma once

#include "kernels/avx512_vnni/attention_codes_pack.inl.h"
#include "kernels/avx512_vnni/bytes.inl.h"
#include "kernels/generic/math.inl.h"
#include "kernels/generic/tile.inl.h"

namespace inlay {
namespace {

// Signed codes of a row, one step for all columns, by unsigned codes of keys.
struct KeyCodes : Bytes {
  static Sum multiply_add(Sum sum, Left query, Right keys) { return _mm512_dpbusd_epi32(sum, keys, query); }
};

// What a block of scores is handed on in.
struct BlockScores {
  alignas(64) int32_t score[kCodeRows * kBlockKeys];
};

// Scores of all rows and up to a block of keys, in steps of the row. Always kCodeRows rows: those beyond the last query hold
// codes of earlier ones, whose scores nobody reads. Keys beyond the last are copies of it, so that they cannot be the highest.
template <int kVectors>
__attribute__((noinline)) void score_codes(const CodesWork& w, int block, BlockScores& out) {
  __m512i sum[kCodeRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kCodeRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = _mm512_setzero_si512();
  }
  const char* keys = w.keys + int64_t{block} * kBlockKeys * w.layout.words * kWordBytes;
  accumulate<KeyCodes, kCodeRows, kVectors>(sum, w.queries, w.layout.query_stride, keys, w.layout.words);
#pragma GCC unroll 8
  for (int row = 0; row < kCodeRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(out.score + row * kBlockKeys + v * kLanes, sum[row][v]);
  }
}

// Read back from memory: beside more code in the function above, g++ 12 spills the accumulators.
inline __m512i highest_scores(const BlockScores& scores, int vectors) {
  __m512i high[kCodeRows];
#pragma GCC unroll 8
  for (int row = 0; row < kCodeRows; ++row) {
    high[row] = _mm512_load_si512(scores.score + row * kBlockKeys);
    for (int v = 1; v < vectors; ++v) {
      high[row] = _mm512_max_epi32(high[row], _mm512_load_si512(scores.score + row * kBlockKeys + v * kLanes));
    }
  }
  return max_by_lane(high);
}

inline void score_block(const CodesWork& w, int block, BlockScores& scores) {
  switch (w.layout.width_at(block)) {
    case 1: return score_codes<1>(w, block, scores);
    case 2: return score_codes<2>(w, block, scores);
    case 3: return score_codes<3>(w, block, scores);
    default: return score_codes<kBlockVectors>(w, block, scores);
  }
}

// Distances below the top, kOctave to a power of two, are kept in 16 bits: beyond 16 powers of two a weight is 0 by far.
constexpr float kOctave = 4096;

// 255 * 2^(-distance / kOctave), rounded, for 32 distances; off by 0.52 at most.
inline __m512i weights_at(__m512i distance) {
  const __m512i fraction = _mm512_slli_epi16(distance, 4);
  __m512i x = _mm512_sub_epi16(_mm512_set1_epi16(15140), _mm512_mulhi_epu16(fraction, _mm512_set1_epi16(2621)));
  x = _mm512_sub_epi16(_mm512_set1_epi16(static_cast<int16_t>(45163)), _mm512_mulhi_epu16(fraction, x));
  x = _mm512_sub_epi16(_mm512_set1_epi16(static_cast<int16_t>(255 * 256)), _mm512_mulhi_epu16(fraction, x));
  x = _mm512_srlv_epi16(x, _mm512_srli_epi16(distance, 12));
  return _mm512_srli_epi16(_mm512_add_epi16(x, _mm512_set1_epi16(128)), 8);
}

// The same for the distances of a block in 32 bits, in the order of its keys.
inline __m512i block_weights(const __m512i (&distance)[kBlockVectors]) {
  const __m512i low = weights_at(_mm512_packus_epi32(distance[0], distance[1]));
  const __m512i high = weights_at(_mm512_packus_epi32(distance[2], distance[3]));
  return sort_quads(_mm512_packus_epi16(low, high));
}

// One row of a block of which the keys in `seen` exist. `factor` is what a step of the scores is worth, as a power of two, and
// `top` the highest score, both times kOctave.
inline void soften_row(const int32_t* scores, uint64_t seen, float factor, float top, uint8_t* weights) {
  __m512i distance[kBlockVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kBlockVectors; ++v) {
    distance[v] = _mm512_cvtps_epi32(_mm512_fnmadd_ps(vload_int(scores + v * kLanes), vset(factor), vset(top)));
  }
  _mm512_store_si512(weights, _mm512_maskz_mov_epi8(seen, block_weights(distance)));
}

// The same for a query that sees the keys [first, end) of the block, with a bias if there is one.
struct SeenKeys {
  int first;
  int end;
  const float* bias;  // of the first key of the block, or null
};

inline __mmask16 lanes_between(int first, int end) {
  const int from = first < 0 ? 0 : first < kLanes ? first : kLanes;
  const int to = end < from ? from : end < kLanes ? end : kLanes;
  return static_cast<__mmask16>(first_lanes(to) & ~first_lanes(from));
}

inline float soften_seen_row(const int32_t* scores, const SeenKeys& seen, float factor, uint8_t* weights) {
  V x[kBlockVectors];
  V high = vset(-__builtin_inff());
  uint64_t mask = 0;
#pragma GCC unroll 4
  for (int v = 0; v < kBlockVectors; ++v) {
    const __mmask16 lanes = lanes_between(seen.first - v * kLanes, seen.end - v * kLanes);
    mask |= uint64_t{lanes} << (v * kLanes);
    x[v] = vmul(vload_int(scores + v * kLanes), vset(factor));
    if (seen.bias != nullptr) {
      x[v] = vfma(_mm512_maskz_loadu_ps(lanes, seen.bias + v * kLanes), vset(kLog2E), x[v]);
    }
    high = _mm512_mask_max_ps(high, lanes, x[v], high);
  }
  const float highest = vmax_all(high);
  __m512i distance[kBlockVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kBlockVectors; ++v) {
    // The bound also takes the NaN of a block without finite scores.
    const V below = vmul(vsub(vset(highest), x[v]), vset(kOctave));
    distance[v] = _mm512_cvtps_epi32(vmin(below, vset(65535.0F)));
  }
  _mm512_store_si512(weights, _mm512_maskz_mov_epi8(mask, block_weights(distance)));
  return highest;
}

// From the tops of blocks to the factors that weigh them against each other, in place; returns by lane 1 / sum of all weights.
__attribute__((noinline)) inline V weigh_blocks(const CodesWork& w, int begin, int end) {
  V highest = vload(w.tops + begin * kLanes);
  for (int block = begin + 1; block < end; ++block) highest = vmax(highest, vload(w.tops + block * kLanes));
  V sum[kCodeRows];
#pragma GCC unroll 6
  for (int row = 0; row < kCodeRows; ++row) sum[row] = vzero();
  for (int block = begin; block < end; ++block) {
    float* factors = w.tops + block * kLanes;
    vstore(factors, vexp2(vsub(vload(factors), highest)));
    const uint8_t* weights = w.weights + block * kBlockKeys;
#pragma GCC unroll 6
    for (int row = 0; row < kCodeRows; ++row) {
      const __m512i eights = _mm512_sad_epu8(_mm512_load_si512(weights + row * w.layout.weight_stride), _mm512_setzero_si512());
      sum[row] = vfma(vfrom_int(eights), vset(factors[kLaneOf[row]]), sum[row]);
    }
  }
  __m512i bits[kCodeRows];
#pragma GCC unroll 6
  for (int row = 0; row < kCodeRows; ++row) bits[row] = _mm512_castps_si512(sum[row]);
  return vdiv(vset(1.0F), sum_by_lane(bits));
}

}  // namespace
}  // namespace inlay
