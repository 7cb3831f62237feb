// Attention of one head over one sequence. Included after a vec.h.
//
// K is packed once as panels of keys and V as panels of head columns, so that both products run on the register tile. Eight or
// so queries are taken at a time through all keys: their weights are [tile rows, keys] and stay in L1 or L2; there is no
// [length, length] buffer.
#pragma once

#include "kernels/generic/attention_pack.inl.h"
#include "kernels/generic/attention_scores.inl.h"

namespace inlay {
namespace {

// How a head is stored and multiplied: Element is what q, k and v hold and what weights are kept in, Tile multiplies them.
struct FloatHead {
  using Element = float;
  using Tile = F32;
  static V exponential(V x) { return vexp2(x); }
  static void store(float* p, V x) { vstore(p, x); }
  // kLanes columns of one step over the keys.
  static void interleave(const float* row, const float*, float* out) { vstore(out, vload(row)); }
};

// The parts of the scratch, and the rows of q that are in work.
template <class H>
struct AttentionWork {
  using Element = typename H::Element;
  const AttentionArgs& a;
  AttentionLayout<H> layout;
  char* keys;
  char* values;
  Element* weights;  // [kTileRows, keys]
  float* scores;     // [keys], of a row that is done again
  char* query_copy;
  const char* q = nullptr;
  int64_t q_stride;  // bytes

  explicit AttentionWork(const AttentionArgs& args)
      : a(args),
        layout(args.length, args.head_dim),
        keys(static_cast<char*>(args.scratch)),
        values(keys + layout.key_bytes),
        weights(reinterpret_cast<Element*>(values + layout.value_bytes)),
        scores(reinterpret_cast<float*>(values + layout.value_bytes + layout.weight_bytes)),
        query_copy(reinterpret_cast<char*>(scores) + layout.score_bytes),
        q_stride(layout.query_bytes == 0 ? args.stride * layout.kElementBytes : int64_t{4} * layout.words) {}
};

// The tile of a panel's width.
template <class T>
TileFunction tile_of_width(int width, int rows) {
  if (width == 1) return tile_for<T, 1>(rows);
  return width == 2 ? tile_for<T, 2>(rows) : tile_for<T, kTileVectors>(rows);
}

// With the true maximum: for one row of the tile.
template <class H>
float weights_again(const AttentionWork<H>& w, int row) {
  using T = typename H::Tile;
  const Panels& panels = w.layout.keys;
  const char* keys = w.keys;
  for (int vector = 0; vector < panels.vectors; vector += panels.width) {
    const int width = panels.width_at(vector);
    tile_of_width<T>(width, 1)(w.q + row * w.q_stride, 0, keys, w.layout.words, nullptr, w.scores + vector * kLanes, 0);
    keys += w.layout.words * width * T::kRightBytes;
  }
  return soften<H>(w.scores, w.a.length, w.a.scale * kLog2E, w.weights + row * panels.columns());
}

// Weights of `rows` queries, and the sum of each row.
template <class H>
void tile_weights(const AttentionWork<H>& w, int rows, float* sums) {
  const Panels& panels = w.layout.keys;
  float shift[kTileRows];
  alignas(64) float partial[kTileRows * kLanes];
  ScoreTile<H> t{w.q,       w.q_stride,       w.keys, w.layout.words, 0, true, w.a.scale * kLog2E,
                 w.weights, panels.columns(), shift,  partial};
  for (int vector = 0; vector < panels.vectors; vector += panels.width) {
    const int width = panels.width_at(vector);
    t.valid = w.a.length - vector * kLanes;
    ScoreFunction<H> run = score_tile_for<H, kTileVectors>(rows);
    if (width == 1) run = score_tile_for<H, 1>(rows);
    if (width == 2) run = score_tile_for<H, 2>(rows);
    run(t);
    t.first = false;
    t.keys += w.layout.words * width * H::Tile::kRightBytes;
    t.weights += width * kLanes;
  }
  for (int row = 0; row < rows; ++row) {
    sums[row] = vsum(vload(partial + row * kLanes));
    // Also of a sum that is NaN.
    if (!(sums[row] <= kHeaviestSum)) sums[row] = weights_again<H>(w, row);
  }
}

// raw [rows, columns] times the inverse sums to `count` columns of the output from `column` on.
template <class H>
void store_context(const AttentionArgs& a, int row, int column, const float* raw, float sum) {
  const V x = vmul(vload(raw), vset(1.0F / sum));
  const int count = a.head_dim - column < kLanes ? a.head_dim - column : kLanes;
  if (!a.out_is_bf16) {
    float* out = static_cast<float*>(a.out) + row * a.out_stride + column;
    if (count == kLanes) return vstore(out, x);
    return vstore_first(out, x, count);
  }
  uint16_t* out = static_cast<uint16_t*>(a.out) + row * a.out_stride + column;
  if (count == kLanes) return vstore_bf16(out, x);
  uint16_t bits[kLanes];
  vstore_bf16(bits, x);
  memcpy(out, bits, count * sizeof(uint16_t));
}

// Weights times V, for queries [query, query + rows).
template <class H>
void tile_context(const AttentionWork<H>& w, int query, int rows, const float* sums) {
  using T = typename H::Tile;
  const Panels& panels = w.layout.values;
  alignas(64) float raw[kTileRows * kTileVectors * kLanes];
  const char* values = w.values;
  for (int vector = 0; vector < panels.vectors; vector += panels.width) {
    const int width = panels.width_at(vector);
    tile_of_width<T>(width, rows)(reinterpret_cast<const char*>(w.weights), w.layout.weight_stride(), values, w.layout.pairs,
                                  nullptr, raw, width * kLanes);
    values += w.layout.pairs * width * T::kRightBytes;
    for (int row = 0; row < rows; ++row) {
      for (int v = 0; v < width; ++v) {
        store_context<H>(w.a, query + row, (vector + v) * kLanes, raw + (row * width + v) * kLanes, sums[row]);
      }
    }
  }
}

template <class H>
void attention(const AttentionArgs& a) noexcept {
  AttentionWork<H> w(a);
  pack_keys<H>(a, w.layout, reinterpret_cast<uint32_t*>(w.keys));
  pack_values<H>(a, w.layout, reinterpret_cast<typename H::Element*>(w.values));
  for (int query = a.query_begin; query < a.query_end; query += kTileRows) {
    const int rows = a.query_end - query < kTileRows ? a.query_end - query : kTileRows;
    float sums[kTileRows];
    w.q = left_of_queries<H>(a, w.layout, query, rows, w.query_copy);
    tile_weights<H>(w, rows, sums);
    tile_context<H>(w, query, rows, sums);
  }
}

template <class H>
size_t attention_bytes(int length, int head_dim) noexcept {
  return static_cast<size_t>(AttentionLayout<H>(length, head_dim).total());
}

}  // namespace
}  // namespace inlay
