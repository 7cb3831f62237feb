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

// Weights of one row of a tile; returns their sum by lane. kWhole: every column is a key.
template <class H, int kVectors, bool kWhole>
inline V store_weights(const V (&score)[kVectors], V factor, V shift, int valid, typename H::Element* weights) {
  V total = vzero();
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    V weight = H::exponential(vfma(score[v], factor, shift));
    // Columns beyond the last key score 0 and may even be infinite here.
    const int count = valid - v * kLanes;
    if (!kWhole) weight = vkeep_first(weight, count < 0 ? 0 : count < kLanes ? count : kLanes, vzero());
    total = vadd(total, weight);
    H::store(weights + v * kLanes, weight);
  }
  return total;
}

template <class H, int kRows, int kVectors, bool kWhole>
__attribute__((always_inline)) inline void store_tile(const ScoreTile<H>& t, const V (&sum)[kRows][kVectors]) {
  const V factor = vset(t.factor);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const V shift = vset(t.shift[row]);
    float* total = t.sums + row * kLanes;
    vstore(total, vadd(vload(total), store_weights<H, kVectors, kWhole>(sum[row], factor, shift, t.valid,
                                                                        t.weights + row * t.weight_stride)));
  }
}

template <class H, int kRows, int kVectors>
__attribute__((noinline)) void score_tile(const ScoreTile<H>& t) {
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = vzero();
  }
  accumulate<typename H::Tile, kRows, kVectors>(sum, t.q, t.q_stride, t.keys, t.words);
  if (t.first) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      t.shift[row] = -vfirst(sum[row][0]) * t.factor;
      vstore(t.sums + row * kLanes, vzero());
    }
  }
  if (t.valid >= kVectors * kLanes) return store_tile<H, kRows, kVectors, true>(t, sum);
  store_tile<H, kRows, kVectors, false>(t, sum);
}

template <class H>
struct ScoreTiles {
  using Function = void (*)(const ScoreTile<H>&);
  template <int kRows, int kVectors>
  static constexpr Function kTile = score_tile<H, kRows, kVectors>;
};

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

// Scores of one query that sees the keys [first, end); the tile holds the keys [tile_begin, tile_end).
struct MaskedRow {
  float* scores;      // by key
  const float* bias;  // by key, or null
  int first;
  int end;
  int tile_begin;
  int tile_end;
  float factor;  // scale * log2(e)
};

// The lanes of x whose keys are seen; `key` is that of the first lane. Others become `fill`.
inline V keep_seen(const MaskedRow& r, int key, V x, V fill) {
  if (key < r.first) x = vkeep_first(fill, r.first - key, x);
  return r.end - key < kLanes ? vkeep_first(x, r.end - key, fill) : x;
}

// Scores become exp(scale * score + bias - max), and 0 for keys of the tile that are not seen; returns their sum. The weights
// may lie where the scores are.
template <class H>
float soften_seen(const MaskedRow& r, typename H::Element* weights) {
  const int begin = r.first / kLanes * kLanes;
  V high = vset(-__builtin_inff());
  for (int key = begin; key < r.end; key += kLanes) {
    V x = vmul(vload(r.scores + key), vset(r.factor));
    if (r.bias != nullptr) x = vfma(vload(r.bias + key), vset(kLog2E), x);
    vstore(r.scores + key, x);
    high = vmax(high, keep_seen(r, key, x, high));
  }
  const V top = vset(vmax_all(high));
  V sum = vzero();
  for (int key = r.tile_begin; key < begin; key += kLanes) H::store(weights + key, vzero());
  int key = begin;
  for (; key < r.end; key += kLanes) {
    const V weight = keep_seen(r, key, H::exponential(vsub(vload(r.scores + key), top)), vzero());
    sum = vadd(sum, weight);
    H::store(weights + key, weight);
  }
  for (; key < r.tile_end; key += kLanes) H::store(weights + key, vzero());
  return vsum(sum);
}

}  // namespace
}  // namespace inlay
