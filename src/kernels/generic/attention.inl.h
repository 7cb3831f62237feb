// Attention of one head over one sequence. Included after a vec.h.
//
// K is packed once as panels of keys and V as one panel of head columns, so that both products run on the register tile. Eight
// or so queries are taken at a time through all keys: their scores are [tile rows, keys] and stay in L1 or L2; there is no
// [length, length] buffer.
#pragma once

#include "kernels/generic/math.inl.h"
#include "kernels/generic/tile.inl.h"
#include "kernels/kernels.h"

namespace inlay {
namespace {

// How a head is stored and multiplied: Element is what q, k and v hold, T the tile, kStep elements are one 32-bit word.
struct FloatHead {
  using Element = float;
  using Tile = F32;
  static V exponential(V x) { return vexp2(x); }
  static void store(float* p, V x) { vstore(p, x); }
};

// A packed operand is a row of panels, each at most kTileVectors vectors wide.
struct Panels {
  int vectors;  // in all
  int width;    // of every panel but perhaps the last
  Panels(int columns, bool even) : vectors((columns + kLanes - 1) / kLanes), width(kTileVectors) {
    const int count = (vectors + kTileVectors - 1) / kTileVectors;
    if (even) width = (vectors + count - 1) / count;
  }
  int columns() const { return vectors * kLanes; }
  int width_at(int vector) const { return vectors - vector < width ? vectors - vector : width; }
};

template <class H>
struct AttentionLayout {
  static constexpr int kStep = H::Tile::kStep;

  Panels keys;
  Panels values;
  int words;  // 32-bit words of a row of K
  int pairs;  // steps over the keys
  int64_t key_bytes, value_bytes, score_bytes, weight_bytes, context_bytes, query_bytes;

  AttentionLayout(int length, int head_dim)
      : keys(length, false),
        values(head_dim, true),
        words((head_dim + kStep - 1) / kStep),
        pairs((length + kStep - 1) / kStep),
        key_bytes(aligned(int64_t{4} * keys.columns() * words)),
        value_bytes(aligned(int64_t{4} * pairs * values.columns())),
        score_bytes(aligned(int64_t{4} * kTileRows * keys.columns())),
        weight_bytes(kStep == 1 ? 0 : aligned(int64_t{2} * kTileRows * keys.columns())),
        context_bytes(aligned(int64_t{4} * kTileRows * values.columns())),
        query_bytes(head_dim % kStep == 0 ? 0 : aligned(int64_t{4} * kTileRows * words)) {}

  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t total() const { return key_bytes + value_bytes + score_bytes + weight_bytes + context_bytes + query_bytes; }
};

// K [length, head_dim] to panels [word][key in panel], zero beyond the last key and the last element.
template <class H>
void pack_keys(const AttentionArgs& a, const AttentionLayout<H>& s, uint32_t* packed) {
  using Element = typename H::Element;
  constexpr int kStep = H::Tile::kStep;
  const int whole = a.head_dim / kStep;
  for (int vector = 0; vector < s.keys.vectors; vector += s.keys.width) {
    const int columns = s.keys.width_at(vector) * kLanes;
    const int begin = vector * kLanes;
    const int count = a.length - begin < columns ? a.length - begin : columns;
    for (int key = 0; key < count; ++key) {
      const Element* row = static_cast<const Element*>(a.k) + (begin + key) * a.stride;
      uint32_t* out = packed + key;
      for (int w = 0; w < whole; ++w) memcpy(out + w * columns, row + w * kStep, 4);
      if (whole < s.words) {
        out[whole * columns] = 0;
        memcpy(out + whole * columns, row + whole * kStep, sizeof(Element));
      }
    }
    for (int w = 0; w < s.words && count < columns; ++w) memset(packed + w * columns + count, 0, (columns - count) * 4);
    packed += s.words * columns;
  }
}

// The rows of q as the tile reads them. When the last word is not full, they are copied, since what follows a row may be NaN.
template <class H>
const char* left_of_queries(const AttentionArgs& a, const AttentionLayout<H>& s, int query, int rows, char* copy) {
  using Element = typename H::Element;
  const char* q = reinterpret_cast<const char*>(static_cast<const Element*>(a.q) + query * a.stride);
  if (s.query_bytes == 0) return q;
  memset(copy, 0, s.query_bytes);
  const int64_t stride = a.stride * static_cast<int64_t>(sizeof(Element));
  for (int r = 0; r < rows; ++r) memcpy(copy + r * s.words * 4, q + r * stride, a.head_dim * sizeof(Element));
  return copy;
}

// V [length, head_dim] to panels [key / kStep][column in panel][kStep], zero beyond the last key and column.
template <class H>
void pack_values(const AttentionArgs& a, const AttentionLayout<H>& s, typename H::Element* packed) {
  using Element = typename H::Element;
  constexpr int kStep = H::Tile::kStep;
  for (int vector = 0; vector < s.values.vectors; vector += s.values.width) {
    const int columns = s.values.width_at(vector) * kLanes;
    const int begin = vector * kLanes;
    const int valid = a.head_dim - begin < columns ? a.head_dim - begin : columns;
    for (int key = 0; key < s.pairs * kStep; ++key) {
      Element* out = packed + (key / kStep) * columns * kStep + key % kStep;
      const Element* row = static_cast<const Element*>(a.v) + key * a.stride + begin;
      const int count = key < a.length ? valid : 0;
      for (int c = 0; c < count; ++c) out[c * kStep] = row[c];
      for (int c = count; c < columns; ++c) out[c * kStep] = 0;
    }
    packed += s.pairs * columns * kStep;
  }
}

// Scores of one query become exp(scale * (score - max)); returns their sum. `weights` may be the scores themselves.
template <class H>
float soften(float* scores, int length, float scale, typename H::Element* weights, int padded) {
  V high = vset(scores[0]);
  int c = 0;
  for (; c + kLanes <= length; c += kLanes) high = vmax(high, vload(scores + c));
  if (c < length) high = vmax(high, vkeep_first(vload(scores + c), length - c, high));
  const V factor = vset(scale * kLog2E);
  const V shift = vset(-vmax_all(high) * (scale * kLog2E));
  V sum = vzero();
  for (c = 0; c + kLanes <= length; c += kLanes) {
    const V weight = H::exponential(vfma(vload(scores + c), factor, shift));
    sum = vadd(sum, weight);
    H::store(weights + c, weight);
  }
  for (; c < padded; c += kLanes) {
    const int count = length - c < 0 ? 0 : length - c;
    const V weight = vkeep_first(H::exponential(vfma(vload(scores + c), factor, shift)), count, vzero());
    sum = vadd(sum, weight);
    H::store(weights + c, weight);
  }
  return vsum(sum);
}

// raw [rows, values] times the inverse sums to the output.
template <class H>
void store_context(const AttentionArgs& a, const AttentionLayout<H>& s, int query, int rows, const float* raw,
                   const float* sums) {
  for (int r = 0; r < rows; ++r) {
    const V inverse = vset(1.0F / sums[r]);
    for (int c = 0; c < a.head_dim; c += kLanes) {
      const V x = vmul(vload(raw + r * s.values.columns() + c), inverse);
      const int count = a.head_dim - c < kLanes ? a.head_dim - c : kLanes;
      if (!a.out_is_bf16) {
        vstore_first(static_cast<float*>(a.out) + (query + r) * a.out_stride + c, x, count);
        continue;
      }
      uint16_t bits[kLanes];
      vstore_bf16(bits, x);
      memcpy(static_cast<uint16_t*>(a.out) + (query + r) * a.out_stride + c, bits, count * sizeof(uint16_t));
    }
  }
}

// A tile of rows times a packed operand of several panels; out is [rows, panels.columns()].
template <class T>
void multiply(int rows, const char* a, int64_t a_stride, const char* b, const Panels& panels, int64_t steps, float* out) {
  for (int vector = 0; vector < panels.vectors; vector += panels.width) {
    const int width = panels.width_at(vector);
    TileFunction run = tile_for<T, kTileVectors>(rows);
    if (width == 1) run = tile_for<T, 1>(rows);
    if (width == 2) run = tile_for<T, 2>(rows);
    run(a, a_stride, b, steps, nullptr, out + vector * kLanes, panels.columns());
    b += steps * width * T::kRightBytes;
  }
}

template <class H>
void attention(const AttentionArgs& a) noexcept {
  using Element = typename H::Element;
  using Tile = typename H::Tile;
  const AttentionLayout<H> s(a.length, a.head_dim);
  char* keys = static_cast<char*>(a.scratch);
  char* values = keys + s.key_bytes;
  float* scores = reinterpret_cast<float*>(values + s.value_bytes);
  char* weights = reinterpret_cast<char*>(scores) + (s.weight_bytes == 0 ? 0 : s.score_bytes);
  float* context = reinterpret_cast<float*>(reinterpret_cast<char*>(scores) + s.score_bytes + s.weight_bytes);
  const int64_t weight_stride = s.keys.columns() * static_cast<int64_t>(sizeof(Element));
  pack_keys<H>(a, s, reinterpret_cast<uint32_t*>(keys));
  pack_values<H>(a, s, reinterpret_cast<Element*>(values));
  char* copy = reinterpret_cast<char*>(context) + s.context_bytes;
  const int64_t left_stride = s.query_bytes == 0 ? a.stride * static_cast<int64_t>(sizeof(Element)) : int64_t{4} * s.words;
  for (int query = a.query_begin; query < a.query_end; query += kTileRows) {
    const int rows = a.query_end - query < kTileRows ? a.query_end - query : kTileRows;
    const char* left = left_of_queries<H>(a, s, query, rows, copy);
    multiply<Tile>(rows, left, left_stride, keys, s.keys, s.words, scores);
    float sums[kTileRows];
    for (int r = 0; r < rows; ++r) {
      Element* row = reinterpret_cast<Element*>(weights + r * weight_stride);
      sums[r] = soften<H>(scores + r * s.keys.columns(), a.length, a.scale, row, s.keys.columns());
    }
    multiply<Tile>(rows, weights, weight_stride, values, s.values, s.pairs, context);
    store_context<H>(a, s, query, rows, context, sums);
  }
}

template <class H>
size_t attention_bytes(int length, int head_dim) noexcept {
  return static_cast<size_t>(AttentionLayout<H>(length, head_dim).total());
}

}  // namespace
}  // namespace inlay
