// Attention of one head over one sequence by products of codes of 8 bits. Included after avx512/vec.h.
//
// Six queries are taken at a time. Their scores become weights block by block, and the weights of a row, one byte a key, then
// meet V. Everything but the factors of rows, columns and blocks is an integer, so it is exact in any order.
#pragma once

#include "kernels/avx512_vnni/attention_codes_weights.inl.h"
#include "kernels/generic/attention.inl.h"

namespace inlay {
namespace {

// The queries in work and the blocks that some of them see.
struct CodesTile {
  int query;
  int rows;
  int begin;
  int end;
  // See kLaneOf.
  alignas(64) float factor[kLanes];   // what a step of the scores is worth, as a power of two
  alignas(64) float inverse[kLanes];  // 1 / sum of the weights
};

inline CodesTile codes_tile(const AttentionArgs& a, int query) {
  const int rest = a.query_end - query;
  CodesTile t = {query, rest < kCodeRows ? rest : kCodeRows, 0, 0, {}, {}};
  const int first = query > a.left ? query - a.left : 0;
  const int last = a.length - (query + t.rows) > a.right ? query + t.rows - 1 + a.right : a.length - 1;
  t.begin = first / kBlockKeys;
  t.end = last / kBlockKeys + 1;
  return t;
}

inline SeenKeys seen_in_block(const AttentionArgs& a, int query, int block) {
  const int begin = block * kBlockKeys;
  const int first = query > a.left ? query - a.left : 0;
  const int end = a.length - 1 - query > a.right ? query + a.right + 1 : a.length;
  return {first - begin, end - begin, a.bias == nullptr ? nullptr : a.bias + query * a.bias_stride + begin};
}

// Weights of queries that see all keys. Out of line, so that constants stay in registers.
__attribute__((noinline)) inline void soften_block(const CodesWork& w, int block, const CodesTile& t,
                                                   const BlockScores& scores) {
  const int count = w.a.length - block * kBlockKeys;
  const uint64_t exists = count >= kBlockKeys ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  const V factor = vload(t.factor);
  const V top = vmul(vfrom_int(highest_scores(scores, w.layout.width_at(block))), factor);
  vstore(w.tops + block * kLanes, top);
  alignas(64) float factors[kLanes], tops[kLanes];
  vstore(factors, vmul(factor, vset(kOctave)));
  vstore(tops, vmul(top, vset(kOctave)));
  uint8_t* weights = w.weights + block * kBlockKeys;
  for (int row = 0; row < t.rows; ++row, weights += w.layout.weight_stride) {
    soften_row(scores.score + row * kBlockKeys, exists, factors[kLaneOf[row]], tops[kLaneOf[row]], weights);
  }
}

inline void soften_seen_block(const CodesWork& w, int block, const CodesTile& t, const BlockScores& scores) {
  vstore(w.tops + block * kLanes, vzero());
  for (int row = 0; row < t.rows; ++row) {
    w.tops[block * kLanes + kLaneOf[row]] =
        soften_seen_row(scores.score + row * kBlockKeys, seen_in_block(w.a, t.query + row, block), t.factor[kLaneOf[row]],
                        w.weights + row * w.layout.weight_stride + block * kBlockKeys);
  }
}

// Weights of the tile's queries, and the factors of their blocks.
inline void tile_codes(const CodesWork& w, CodesTile& t) {
  const AttentionArgs& a = w.a;
  const bool sees_all = a.bias == nullptr && a.left >= a.length && a.right >= a.length;
  vstore(t.factor, vmul(code_queries(w, t.query, t.rows), vset(a.scale * kLog2E)));
  // The scores of a block are made while those before it become weights, which waits for a maximum.
  BlockScores scores[2];
  score_block(w, t.begin, scores[t.begin % 2]);
  for (int block = t.begin; block < t.end; ++block) {
    if (block + 1 < t.end) score_block(w, block + 1, scores[(block + 1) % 2]);
    if (sees_all)
      soften_block(w, block, t, scores[block % 2]);
    else
      soften_seen_block(w, block, t, scores[block % 2]);
  }
  vstore(t.inverse, weigh_blocks(w, t.begin, t.end));
}

// Weights times one panel of V.
template <int kVectors>
__attribute__((noinline)) void context_codes(const CodesWork& w, const CodesTile& t, int vector, const char* panel) {
  V context[kCodeRows][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kCodeRows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) context[row][v] = vzero();
  }
  constexpr int kSteps = kBlockKeys / kWordBytes;
  for (int block = t.begin; block < t.end; ++block) {
    __m512i sum[kCodeRows][kVectors];
#pragma GCC unroll 8
    for (int row = 0; row < kCodeRows; ++row) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[row][v] = _mm512_setzero_si512();
    }
    const int rest = w.layout.steps - block * kSteps;
    accumulate<Bytes, kCodeRows, kVectors>(sum, reinterpret_cast<const char*>(w.weights) + block * kBlockKeys,
                                           w.layout.weight_stride, panel + int64_t{block} * kSteps * kVectors * 64,
                                           rest < kSteps ? rest : kSteps);
#pragma GCC unroll 8
    for (int row = 0; row < kCodeRows; ++row) {
      const V factor = vset(w.tops[block * kLanes + kLaneOf[row]]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) context[row][v] = vfma(vfrom_int(sum[row][v]), factor, context[row][v]);
    }
  }
  const int column = vector * kLanes;
  ContextTile out = {};
  out.out = static_cast<char*>(w.a.out) + (t.query * w.a.out_stride + column) * (w.a.out_is_bf16 ? 2 : 4);
  out.out_stride = w.a.out_stride;
  out.valid = w.a.head_dim - column;
  out.out_is_bf16 = w.a.out_is_bf16;
#pragma GCC unroll 8
  for (int row = 0; row < kCodeRows; ++row) {
    if (row >= t.rows) break;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const V mean = vmul(context[row][v], vset(t.inverse[kLaneOf[row]]));
      const int at = column + v * kLanes;
      store_context(out, row, v * kLanes, vfma(mean, vload(w.value_step + at), vload(w.value_base + at)));
    }
  }
}

inline void attention_codes(const AttentionArgs& a) noexcept {
  const CodesWork w(a);
  if (!a.is_packed) {
    find_columns(w);
    pack_key_codes(w);
    pack_value_codes(w);
  }
  for (int query = a.query_begin; query < a.query_end; query += kCodeRows) {
    CodesTile t = codes_tile(a, query);
    tile_codes(w, t);
    const char* panel = w.values;
    for (int vector = 0; vector < w.layout.vectors; vector += kContextVectors) {
      const bool is_wide = w.layout.vectors - vector >= kContextVectors;
      (is_wide ? context_codes<kContextVectors> : context_codes<1>)(w, t, vector, panel);
      panel += int64_t{w.layout.steps} * kContextVectors * 64;
    }
  }
}

inline size_t attention_codes_bytes(int length, int head_dim) noexcept {
  return static_cast<size_t>(CodesLayout(length, head_dim).total());
}

}  // namespace
}  // namespace inlay
