// Weights of the softmax. Included after a vec.h.
//
// exp(s - m) needs no m that is the row's maximum, only one so near that nothing overflows: the ratio of the weights is the
// same. So the score of the first key serves as m, and a tile of scores becomes weights while it is still in registers. A row
// where a later key is 2^64 times heavier than the first is done again with its true maximum. That depends on the row alone.
#pragma once

#include "kernels/generic/math.inl.h"
#include "kernels/generic/tile.inl.h"

namespace inlay {
namespace {

constexpr float kHeaviestSum = 1.8446744e19F;  // 2^64

// One tile of queries against one panel of keys.
template <class H>
struct ScoreTile {
  const char* q;
  int64_t q_stride;  // bytes
  const char* keys;
  int64_t words;
  int valid;     // columns of this panel that are keys
  bool first;    // the panel holds the first key: shift is written, and sums begin
  float factor;  // scale * log2(e)
  typename H::Element* weights;
  int64_t weight_stride;  // elements
  float* shift;           // [rows]: -factor * score of the first key
  float* sums;            // [rows, kLanes]: partial sums of the weights
};

// Weights of one row of a tile; returns their sum by lane.
template <class H, int kVectors>
inline V store_weights(const ScoreTile<H>& t, const V (&score)[kVectors], V shift, typename H::Element* weights) {
  V total = vzero();
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    V weight = H::exponential(vfma(score[v], vset(t.factor), shift));
    // Columns beyond the last key score 0 and may even be infinite here.
    if (t.valid < (v + 1) * kLanes) weight = vkeep_first(weight, t.valid < v * kLanes ? 0 : t.valid - v * kLanes, vzero());
    total = vadd(total, weight);
    H::store(weights + v * kLanes, weight);
  }
  return total;
}

// Out of line for the sake of its registers, as `tile` is.
template <class H, int kRows, int kVectors>
__attribute__((noinline)) void score_tile(const ScoreTile<H>& t) {
  using T = typename H::Tile;
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = vzero();
  }
  const char* q = t.q;
  const char* keys = t.keys;
  const int64_t q_stride = t.q_stride;
  for (int64_t word = t.words; word > 0; --word) {
    typename T::Right right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = T::right(keys + v * T::kRightBytes);
    keys += kVectors * T::kRightBytes;
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const typename T::Left left = T::left(q + row * q_stride);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[row][v] = T::multiply_add(sum[row][v], left, right[v]);
    }
    q += T::kLeftBytes;
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    if (t.first) {
      t.shift[row] = -vfirst(sum[row][0]) * t.factor;
      vstore(t.sums + row * kLanes, vzero());
    }
    const V total = store_weights<H, kVectors>(t, sum[row], vset(t.shift[row]), t.weights + row * t.weight_stride);
    vstore(t.sums + row * kLanes, vadd(vload(t.sums + row * kLanes), total));
  }
}

template <class H>
using ScoreFunction = void (*)(const ScoreTile<H>&);

template <class H, int kVectors>
ScoreFunction<H> score_tile_for(int rows) {
  static constexpr ScoreFunction<H> kTiles[] = {
      score_tile<H, 1, kVectors>,
      score_tile<H, 2, kVectors>,
      score_tile<H, 3, kVectors>,
      score_tile<H, 4, kVectors>,
      score_tile<H, 5, kVectors>,
      score_tile<H, 6, kVectors>,
      score_tile<H, (kTileRows < 7 ? kTileRows : 7), kVectors>,
      score_tile<H, (kTileRows < 8 ? kTileRows : 8), kVectors>,
  };
  return kTiles[rows - 1];
}

// Scores of one query become exp(scale * (score - max)); returns their sum.
template <class H>
float soften(const float* scores, int length, float factor, typename H::Element* weights) {
  V high = vset(scores[0]);
  int c = 0;
  for (; c + kLanes <= length; c += kLanes) high = vmax(high, vload(scores + c));
  if (c < length) high = vmax(high, vkeep_first(vload(scores + c), length - c, high));
  const V shift = vset(-vmax_all(high) * factor);
  V sum = vzero();
  for (c = 0; c < length; c += kLanes) {
    const int count = length - c < kLanes ? length - c : kLanes;
    const V weight = vkeep_first(H::exponential(vfma(vload(scores + c), vset(factor), shift)), count, vzero());
    sum = vadd(sum, weight);
    H::store(weights + c, weight);
  }
  return vsum(sum);
}

}  // namespace
}  // namespace inlay
