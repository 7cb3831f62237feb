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
  float* scores;     // [keys], of a row that is done again; [kTileRows, keys] where weights are no floats
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

// With the true maximum: for one row of the tile.
template <class H>
float weights_again(const AttentionWork<H>& w, int row) {
  using T = typename H::Tile;
  const Panels& panels = w.layout.keys;
  const char* keys = w.keys;
  for (int vector = 0; vector < panels.vectors; vector += panels.width) {
    const int width = panels.width_at(vector);
    by_shape<Tiles<T>>(1, width)(w.q + row * w.q_stride, 0, keys, w.layout.words, Start{}, w.scores + vector * kLanes, 0,
                                 Ahead{});
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
    by_shape<ScoreTiles<H>>(rows, width)(t);
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

// Steps over the keys.
struct KeySteps {
  int64_t begin;
  int64_t count;
};

// Keys that some query of [query, query + rows) sees, in vectors of whole panels. Panels outside are never touched.
struct SeenVectors {
  int begin;
  int end;
};

inline SeenVectors seen_vectors(const AttentionArgs& a, const Panels& panels, int query, int rows) {
  const int width = panels.width * kLanes;
  const int first = query > a.left ? query - a.left : 0;
  const int last = a.length - (query + rows) > a.right ? query + rows - 1 + a.right : a.length - 1;
  const int end = (last / width + 1) * panels.width;
  return {first / width * panels.width, end < panels.vectors ? end : panels.vectors};
}

// The same with keys that are not seen, and with a bias: raw scores first, then row by row. A row's numbers follow from the
// keys that it sees only: the others have a weight of exactly 0.
template <class H>
KeySteps masked_weights(const AttentionWork<H>& w, int query, int rows, float* sums) {
  using T = typename H::Tile;
  const Panels& panels = w.layout.keys;
  const SeenVectors seen = seen_vectors(w.a, panels, query, rows);
  // Weights that are floats take the place of their scores.
  float* scores = sizeof(typename H::Element) == 4 ? reinterpret_cast<float*>(w.weights) : w.scores;
  for (int vector = seen.begin; vector < seen.end; vector += panels.width) {
    const int width = panels.width_at(vector);
    const char* keys = w.keys + int64_t{vector} * w.layout.words * T::kRightBytes;
    by_shape<Tiles<T>>(rows, width)(w.q, w.q_stride, keys, w.layout.words, Start{}, scores + vector * kLanes, panels.columns(),
                                    Ahead{});
  }
  for (int row = 0; row < rows; ++row) {
    const int64_t at = int64_t{row} * panels.columns();
    MaskedRow r = {scores + at, nullptr, 0, 0, seen.begin * kLanes, seen.end * kLanes, w.a.scale * kLog2E};
    const int i = query + row;
    r.first = i > w.a.left ? i - w.a.left : 0;
    r.end = w.a.length - 1 - i > w.a.right ? i + w.a.right + 1 : w.a.length;
    if (w.a.bias != nullptr) r.bias = w.a.bias + i * w.a.bias_stride;
    sums[row] = soften_seen<H>(r, w.weights + at);
  }
  const int64_t begin = seen.begin * kLanes / T::kStep;
  const int64_t end = seen.end * kLanes / T::kStep;
  return {begin, (end < w.layout.pairs ? end : w.layout.pairs) - begin};
}

// One tile of weights against one panel of V.
struct ContextTile {
  const char* weights;
  int64_t weight_stride;  // bytes
  const char* values;
  int64_t pairs;
  const float* inverse;  // [rows]: 1 / sum of the weights
  void* out;             // first row and column of the tile
  int64_t out_stride;    // elements
  int valid;             // columns that exist
  bool out_is_bf16;
};

inline void store_context(const ContextTile& t, int row, int column, V x) {
  const int count = t.valid - column;
  if (!t.out_is_bf16) {
    float* out = static_cast<float*>(t.out) + row * t.out_stride + column;
    if (count >= kLanes) return vstore(out, x);
    return vstore_first(out, x, count);
  }
  uint16_t* out = static_cast<uint16_t*>(t.out) + row * t.out_stride + column;
  if (count >= kLanes) return vstore_bf16(out, x);
  uint16_t bits[kLanes];
  vstore_bf16(bits, x);
  memcpy(out, bits, count * sizeof(uint16_t));
}

template <class T, int kRows, int kVectors>
__attribute__((noinline)) void context_tile(const ContextTile& t) {
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = vzero();
  }
  accumulate<T, kRows, kVectors>(sum, t.weights, t.weight_stride, t.values, t.pairs);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const V inverse = vset(t.inverse[row]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store_context(t, row, v * kLanes, vmul(sum[row][v], inverse));
  }
}

template <class T>
struct ContextTiles {
  using Function = void (*)(const ContextTile&);
  template <int kRows, int kVectors>
  static constexpr Function kTile = context_tile<T, kRows, kVectors>;
};

// Weights times V, for queries [query, query + rows).
template <class H>
void tile_context(const AttentionWork<H>& w, int query, int rows, const float* sums, KeySteps steps) {
  using T = typename H::Tile;
  using Tiles = ContextTiles<T>;
  const Panels& panels = w.layout.values;
  float inverse[kTileRows];
  for (int row = 0; row < rows; ++row) inverse[row] = 1.0F / sums[row];
  const int64_t out_bytes = w.a.out_is_bf16 ? 2 : 4;
  char* out = static_cast<char*>(w.a.out) + query * w.a.out_stride * out_bytes;
  const char* weights = reinterpret_cast<const char*>(w.weights) + steps.begin * T::kLeftBytes;
  const char* values = w.values;
  for (int vector = 0; vector < panels.vectors; vector += panels.width) {
    const int width = panels.width_at(vector);
    const int column = vector * kLanes;
    const char* first = values + steps.begin * width * T::kRightBytes;
    by_shape<Tiles>(rows, width)({weights, w.layout.weight_stride(), first, steps.count, inverse, out + column * out_bytes,
                                  w.a.out_stride, w.a.head_dim - column, w.a.out_is_bf16});
    values += w.layout.pairs * width * T::kRightBytes;
  }
}

template <class H>
void attention(const AttentionArgs& a) noexcept {
  AttentionWork<H> w(a);
  if (!a.is_packed) {
    pack_keys<H>(a, w.layout, reinterpret_cast<uint32_t*>(w.keys));
    pack_values<H>(a, w.layout, reinterpret_cast<typename H::Element*>(w.values));
  }
  const bool sees_all = a.bias == nullptr && a.left >= a.length && a.right >= a.length;
  for (int query = a.query_begin; query < a.query_end; query += kTileRows) {
    const int rows = a.query_end - query < kTileRows ? a.query_end - query : kTileRows;
    float sums[kTileRows];
    w.q = left_of_queries<H>(a, w.layout, query, rows, w.query_copy);
    KeySteps steps = {0, w.layout.pairs};
    if (sees_all)
      tile_weights<H>(w, rows, sums);
    else
      steps = masked_weights<H>(w, query, rows, sums);
    tile_context<H>(w, query, rows, sums, steps);
  }
}

template <class H>
size_t attention_bytes(int length, int head_dim) noexcept {
  return static_cast<size_t>(AttentionLayout<H>(length, head_dim).total());
}

}  // namespace
}  // namespace inlay
