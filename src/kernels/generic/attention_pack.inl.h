// The operands of attention as the register tile reads them. Included after a vec.h.
#pragma once

#include "kernels/generic/tile.inl.h"
#include "kernels/kernels.h"

namespace inlay {
namespace {

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

// Where everything lies in the scratch. H is the head's type, see attention.inl.h; H::Tile::kStep elements are one 32-bit word.
template <class H>
struct AttentionLayout {
  static constexpr int kStep = H::Tile::kStep;
  static constexpr int64_t kElementBytes = sizeof(typename H::Element);

  Panels keys;
  Panels values;
  int words;  // 32-bit words of a row of K
  int pairs;  // steps over the keys
  int64_t key_bytes, value_bytes, weight_bytes, score_bytes, query_bytes;

  AttentionLayout(int length, int head_dim)
      : keys(length, false),
        values(head_dim, true),
        words((head_dim + kStep - 1) / kStep),
        pairs((length + kStep - 1) / kStep),
        key_bytes(aligned(int64_t{4} * keys.columns() * words)),
        value_bytes(aligned(int64_t{4} * pairs * values.columns())),
        weight_bytes(aligned(kElementBytes * kTileRows * keys.columns())),
        score_bytes(aligned(int64_t{4} * (kElementBytes == 4 ? 1 : kTileRows) * keys.columns())),
        query_bytes(head_dim % kStep == 0 ? 0 : aligned(int64_t{4} * kTileRows * words)) {}

  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t total() const { return key_bytes + value_bytes + weight_bytes + score_bytes + query_bytes; }
  int64_t weight_stride() const { return kElementBytes * keys.columns(); }
};

// Up to kLanes rows of up to kLanes words, transposed: word w of row r to out[w * columns + r]. Lanes without a row are zero.
template <class H>
void transpose_words(const char* rows, int64_t stride, int count, int words, uint32_t* out, int columns) {
  if (words == kLanes) {
    V x[kLanes];
    for (int r = 0; r < kLanes; ++r) x[r] = r < count ? vload(reinterpret_cast<const float*>(rows + r * stride)) : vzero();
    vtranspose(x);
    for (int w = 0; w < kLanes; ++w) vstore(reinterpret_cast<float*>(out + w * columns), x[w]);
    return;
  }
  for (int w = 0; w < words; ++w) {
    memset(out + w * columns, 0, kLanes * sizeof(uint32_t));
    for (int r = 0; r < count; ++r) memcpy(out + w * columns + r, rows + r * stride + w * 4, 4);
  }
}

// K [length, head_dim] to panels [word][key in panel], zero beyond the last key and the last element.
template <class H>
void pack_keys(const AttentionArgs& a, const AttentionLayout<H>& s, uint32_t* packed) {
  using Element = typename H::Element;
  constexpr int64_t kBytes = sizeof(Element);
  const int whole = a.head_dim / H::Tile::kStep;
  for (int vector = 0; vector < s.keys.vectors; ++vector) {
    const int first = vector / s.keys.width * s.keys.width;
    const int columns = s.keys.width_at(first) * kLanes;
    uint32_t* out = packed + static_cast<int64_t>(first) * kLanes * s.words + (vector - first) * kLanes;
    const int begin = vector * kLanes;
    const int count = a.length - begin < kLanes ? a.length - begin : kLanes;
    const char* rows = static_cast<const char*>(a.k) + begin * a.stride * kBytes;
    for (int w = 0; w < whole; w += kLanes) {
      const int words = whole - w < kLanes ? whole - w : kLanes;
      transpose_words<H>(rows + w * 4, a.stride * kBytes, count, words, out + static_cast<int64_t>(w) * columns, columns);
    }
    if (whole == s.words) continue;
    uint32_t* last = out + static_cast<int64_t>(whole) * columns;
    memset(last, 0, kLanes * sizeof(uint32_t));
    for (int r = 0; r < count; ++r) memcpy(last + r, rows + (r * a.stride + whole * H::Tile::kStep) * kBytes, kBytes);
  }
}

// V [length, head_dim] to panels [key / kStep][column in panel][kStep], zero beyond the last key and column.
template <class H>
void pack_values(const AttentionArgs& a, const AttentionLayout<H>& s, typename H::Element* packed) {
  using Element = typename H::Element;
  constexpr int kStep = H::Tile::kStep;
  const Element zeros[kLanes] = {};
  for (int vector = 0; vector < s.values.vectors; ++vector) {
    const int first = vector / s.values.width * s.values.width;
    const int64_t step = static_cast<int64_t>(s.values.width_at(first)) * kLanes * kStep;
    Element* out = packed + static_cast<int64_t>(first) * kLanes * kStep * s.pairs + (vector - first) * kLanes * kStep;
    const int begin = vector * kLanes;
    const int valid = a.head_dim - begin < kLanes ? a.head_dim - begin : kLanes;
    for (int key = 0; key < a.length; key += kStep, out += step) {
      const Element* row = static_cast<const Element*>(a.v) + key * a.stride + begin;
      const Element* next = key + 1 < a.length ? row + a.stride : zeros;
      if (valid == kLanes) {
        H::interleave(row, next, out);
        continue;
      }
      memset(out, 0, kLanes * kStep * sizeof(Element));
      for (int c = 0; c < valid; ++c) {
        out[c * kStep] = row[c];
        if (kStep == 2) out[c * kStep + 1] = next[c];
      }
    }
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

}  // namespace
}  // namespace inlay
