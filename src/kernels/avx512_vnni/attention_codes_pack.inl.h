// The operands of attention in codes of 8 bits. Included after avx512/vec.h.
//
// Each column of K of one head of one text has its own scale and minimum, over the keys of that text. The minima add the same
// to all scores of a query, which the softmax does not see, and the scales go into Q before it is rounded: they cost nothing
// per score. Each query has one scale. A column of V has a scale and a middle, which weights that sum to one leave as it is.
#pragma once

#include <string.h>

#include "kernels/kernels.h"

namespace inlay {
namespace {

// The keys whose weights share a scale. Chosen for exactness: where one key takes half of the weight, the 511 others of a long
// text would share the lowest of 255 steps.
constexpr int kBlockKeys = 64;
constexpr int kBlockVectors = kBlockKeys / kLanes;
// Queries at a time: six times four accumulators of scores, or six times two in int32 and in float of the context.
constexpr int kCodeRows = 6;
constexpr int kContextVectors = 2;
constexpr int kWordBytes = 4;  // codes of one step of a product

// Where everything lies in the scratch.
struct CodesLayout {
  int blocks;
  int key_vectors;
  int vectors;  // of columns of the head
  int words;    // of a row of K
  int steps;    // over the keys
  int64_t query_stride, weight_stride;
  int64_t key_bytes, value_bytes, column_bytes, query_bytes, weight_bytes, top_bytes;

  CodesLayout(int length, int head_dim)
      : blocks((length + kBlockKeys - 1) / kBlockKeys),
        key_vectors((length + kLanes - 1) / kLanes),
        vectors((head_dim + kLanes - 1) / kLanes),
        words((head_dim + kWordBytes - 1) / kWordBytes),
        steps((length + kWordBytes - 1) / kWordBytes),
        query_stride((int64_t{head_dim} + 63) / 64 * 64),
        weight_stride(int64_t{blocks} * kBlockKeys),
        key_bytes(int64_t{blocks} * kBlockKeys * words * kWordBytes),
        value_bytes(int64_t{steps} * kWordBytes * vectors * kLanes),
        column_bytes(int64_t{vectors} * kLanes * 4),
        query_bytes(query_stride * kCodeRows),
        weight_bytes(weight_stride * kCodeRows),
        top_bytes(int64_t{blocks} * kLanes * 4) {}

  int64_t total() const { return key_bytes + value_bytes + 4 * column_bytes + query_bytes + weight_bytes + top_bytes; }
  int width_at(int block) const {
    const int rest = key_vectors - block * kBlockVectors;
    return rest < kBlockVectors ? rest : kBlockVectors;
  }
};

struct CodesWork {
  const AttentionArgs& a;
  CodesLayout layout;
  char* keys;         // [block][word][key of the block][4]
  char* values;       // [panel of columns][step][column][4 keys]
  float* key_step;    // [columns]: the value of one step of a code
  float* key_base;    // [columns]: the value of code 0
  float* value_step;  // [columns]
  float* value_base;  // [columns]
  char* queries;      // [kCodeRows, query_stride]
  uint8_t* weights;   // [kCodeRows, weight_stride]
  float* tops;        // [block][kLaneOf]: log2 of the largest weight of a block, then the factor of the block

  explicit CodesWork(const AttentionArgs& args)
      : a(args),
        layout(args.length, args.head_dim),
        keys(static_cast<char*>(args.scratch)),
        values(keys + layout.key_bytes),
        key_step(reinterpret_cast<float*>(values + layout.value_bytes)),
        key_base(key_step + layout.vectors * kLanes),
        value_step(key_base + layout.vectors * kLanes),
        value_base(value_step + layout.vectors * kLanes),
        queries(reinterpret_cast<char*>(value_base + layout.vectors * kLanes)),
        weights(reinterpret_cast<uint8_t*>(queries + layout.query_bytes)),
        tops(reinterpret_cast<float*>(weights + layout.weight_bytes)) {}

  const uint16_t* key(int row) const { return static_cast<const uint16_t*>(a.k) + row * a.stride; }
  const uint16_t* value(int row) const { return static_cast<const uint16_t*>(a.v) + row * a.stride; }
  // The columns of vector v that exist.
  __mmask16 columns_of(int v) const {
    const int count = a.head_dim - v * kLanes;
    return first_lanes(count < 0 ? 0 : count < kLanes ? count : kLanes);
  }
};

inline V load_bf16(const uint16_t* p, __mmask16 columns) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(columns, p)), 16));
}

// bf16 bits to integers of the same order and back: those of negative numbers are flipped. NaN is beyond infinity.
inline __m512i in_order(__m512i bits) {
  const __m512i flip = _mm512_and_si512(_mm512_srai_epi16(bits, 15), _mm512_set1_epi16(0x7fff));
  return _mm512_xor_si512(bits, flip);
}

struct Range {
  V low, range;
};

inline Range range_of(__m256i low_bits, __m256i high_bits) {
  const V low = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(low_bits), 16));
  const V high = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(high_bits), 16));
  return {low, vsub(high, low)};
}

// The least and the largest of two vectors of columns over `length` rows.
inline void find_ranges(const uint16_t* x, int64_t stride, int length, __mmask32 columns, Range (&ranges)[2]) {
  __m512i low = _mm512_set1_epi16(0x7fff);
  __m512i high = _mm512_set1_epi16(-0x8000);
  for (int row = 0; row < length; ++row) {
    const __m512i value = in_order(_mm512_maskz_loadu_epi16(columns, x + row * stride));
    low = _mm512_min_epi16(low, value);
    high = _mm512_max_epi16(high, value);
  }
  low = in_order(low);
  high = in_order(high);
  ranges[0] = range_of(_mm512_castsi512_si256(low), _mm512_castsi512_si256(high));
  ranges[1] = range_of(_mm512_extracti64x4_epi64(low, 1), _mm512_extracti64x4_epi64(high, 1));
}

// Steps and bases of all columns. The step of a column that holds NaN or infinity is NaN.
inline void find_columns(const CodesWork& w) {
  for (int v = 0; v < w.layout.vectors; v += 2) {
    const __mmask32 columns = static_cast<__mmask32>(w.columns_of(v)) | static_cast<__mmask32>(w.columns_of(v + 1)) << kLanes;
    Range keys[2], values[2];
    find_ranges(w.key(0) + v * kLanes, w.a.stride, w.a.length, columns, keys);
    find_ranges(w.value(0) + v * kLanes, w.a.stride, w.a.length, columns, values);
    for (int i = 0; i < 2 && v + i < w.layout.vectors; ++i) {
      const int at = (v + i) * kLanes;
      vstore(w.key_step + at, vfma(keys[i].range, vset(1.0F / 255), vmul(keys[i].range, vzero())));
      vstore(w.key_base + at, keys[i].low);
      vstore(w.value_step + at, vfma(values[i].range, vset(1.0F / 254), vmul(values[i].range, vzero())));
      vstore(w.value_base + at, vfma(values[i].range, vset(0.5F), values[i].low));
    }
  }
}

// A code is inverse * x + shift, rounded.
struct Coder {
  V inverse, shift;
  Coder() = default;
  Coder(V step, V base)
      : inverse(_mm512_maskz_div_ps(_mm512_cmp_ps_mask(step, vzero(), _CMP_GT_OQ), vset(1.0F), step)),
        shift(vmul(vsub(vzero(), base), inverse)) {}
  __m512i operator()(V x) const { return _mm512_cvtps_epi32(vfma(x, inverse, shift)); }
};

// What the packing instructions, which work within 128 bits, leave: quads of four vectors in turn. This sorts them.
inline __m512i sort_quads(__m512i x) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x);
}
inline __m512i pack_unsigned(__m512i a, __m512i b, __m512i c, __m512i d) {
  return sort_quads(_mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d)));
}
inline __m512i pack_signed(__m512i a, __m512i b, __m512i c, __m512i d) {
  return sort_quads(_mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d)));
}

// Up to 64 columns from column vector `first`: 16 keys, of which `count` exist, to words of one vector of a block.
inline void pack_wide_keys(const CodesWork& w, int key, int first, char* out, int64_t word_stride) {
  Coder coder[kBlockVectors];
  __mmask16 columns[kBlockVectors];
  for (int v = 0; v < kBlockVectors; ++v) {
    columns[v] = w.columns_of(first + v);
    if (columns[v] != 0)
      coder[v] = {vload(w.key_step + (first + v) * kLanes), vload(w.key_base + (first + v) * kLanes)};
    else
      coder[v] = {vzero(), vzero()};
  }
  V x[kLanes];
  for (int r = 0; r < kLanes; ++r) {
    const uint16_t* row = w.key(key + r < w.a.length ? key + r : w.a.length - 1) + first * kLanes;
    __m512i code[kBlockVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; ++v) code[v] = coder[v](load_bf16(row + v * kLanes, columns[v]));
    x[r] = _mm512_castsi512_ps(pack_unsigned(code[0], code[1], code[2], code[3]));
  }
  vtranspose(x);
  const int rest = w.layout.words - first * (kLanes / kWordBytes);
  for (int word = 0; word < kLanes && word < rest; ++word) vstore(reinterpret_cast<float*>(out + word * word_stride), x[word]);
}

// A head of at most 32 columns: two vectors of 16 keys at once.
inline void pack_narrow_keys(const CodesWork& w, int key, char* out, int64_t word_stride) {
  const __mmask16 columns[2] = {w.columns_of(0), w.columns_of(1)};
  const int last = w.layout.vectors - 1;
  const Coder coder[2] = {{vload(w.key_step), vload(w.key_base)},
                          {vload(w.key_step + last * kLanes), vload(w.key_base + last * kLanes)}};
  V x[kLanes];
  for (int r = 0; r < kLanes; ++r) {
    __m512i code[4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const int at = key + i * kLanes + r;
      const uint16_t* row = w.key(at < w.a.length ? at : w.a.length - 1);
      code[2 * i] = coder[0](load_bf16(row, columns[0]));
      code[2 * i + 1] = coder[1](load_bf16(row + kLanes, columns[1]));
    }
    x[r] = _mm512_castsi512_ps(pack_unsigned(code[0], code[1], code[2], code[3]));
  }
  vtranspose(x);
  const bool has_second = word_stride > 64 && key + kLanes < w.layout.key_vectors * kLanes;
  for (int word = 0; word < w.layout.words; ++word) {
    vstore(reinterpret_cast<float*>(out + word * word_stride), x[word]);
    if (has_second) vstore(reinterpret_cast<float*>(out + word * word_stride + 64), x[word + 8]);
  }
}

inline void pack_key_codes(const CodesWork& w) {
  const int step = w.layout.words <= 8 ? 2 : 1;
  for (int vector = 0; vector < w.layout.key_vectors; vector += step) {
    const int block = vector / kBlockVectors;
    const int64_t word_stride = w.layout.width_at(block) * int64_t{64};
    char* out = w.keys + int64_t{block} * kBlockKeys * w.layout.words * kWordBytes + vector % kBlockVectors * 64;
    if (step == 2) {
      pack_narrow_keys(w, vector * kLanes, out, word_stride);
      continue;
    }
    for (int first = 0; first < w.layout.vectors; first += kBlockVectors) {
      pack_wide_keys(w, vector * kLanes, first, out + first * (kLanes / kWordBytes) * word_stride, word_stride);
    }
  }
}

// One vector of columns of all keys. Four keys lie together.
inline void pack_value_vector(const CodesWork& w, int vector, char* out, int64_t step_stride) {
  const __mmask16 columns = w.columns_of(vector);
  const Coder coder(vload(w.value_step + vector * kLanes), vload(w.value_base + vector * kLanes));
  const __m512i by_column = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  for (int step = 0; step < w.layout.steps; ++step, out += step_stride) {
    __m512i code[kWordBytes];
#pragma GCC unroll 4
    for (int i = 0; i < kWordBytes; ++i) {
      // Beyond the last key weights are 0.
      const int key = step * kWordBytes + i;
      code[i] = coder(load_bf16(w.value(key < w.a.length ? key : w.a.length - 1) + vector * kLanes, columns));
    }
    const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(code[0], code[1]), _mm512_packs_epi32(code[2], code[3]));
    _mm512_storeu_si512(out, _mm512_shuffle_epi8(bytes, by_column));
  }
}

inline void pack_value_codes(const CodesWork& w) {
  char* panel = w.values;
  for (int vector = 0; vector < w.layout.vectors; vector += kContextVectors) {
    const int rest = w.layout.vectors - vector;
    const int width = rest < kContextVectors ? rest : kContextVectors;
    for (int v = 0; v < width; ++v) pack_value_vector(w, vector + v, panel + v * 64, int64_t{width} * 64);
    panel += int64_t{w.layout.steps} * width * 64;
  }
}

// In vectors that hold a number for each row, row r is lane kLaneOf[r]. This is where by_lane leaves it.
constexpr int kLaneOf[kCodeRows] = {0, 1, 2, 3, 8, 9};

// All lanes of each of six vectors to one, by `op`. One tree for all of them: six reductions would be six chains of
// instructions that wait for each other. Every row is combined in the same order.
template <class Op>
inline __m512i by_lane(const __m512i (&x)[kCodeRows], const Op& op) {
  __m512i pair[kCodeRows / 2];
#pragma GCC unroll 3
  for (int i = 0; i < kCodeRows / 2; ++i) {
    pair[i] = op(_mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]), _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]));
  }
  const __m512i four = op(_mm512_unpacklo_epi64(pair[0], pair[1]), _mm512_unpackhi_epi64(pair[0], pair[1]));
  const __m512i two = op(_mm512_unpacklo_epi64(pair[2], pair[2]), _mm512_unpackhi_epi64(pair[2], pair[2]));
  const __m512i half = op(_mm512_shuffle_i64x2(four, two, 0x44), _mm512_shuffle_i64x2(four, two, 0xee));
  return op(half, _mm512_shuffle_i64x2(half, half, 0xb1));
}
inline __m512i max_by_lane(const __m512i (&x)[kCodeRows]) {
  return by_lane(x, [](__m512i a, __m512i b) { return _mm512_max_epi32(a, b); });
}
inline V sum_by_lane(const __m512i (&x)[kCodeRows]) {
  return _mm512_castsi512_ps(by_lane(
      x, [](__m512i a, __m512i b) { return _mm512_castps_si512(vadd(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))); }));
}

// A vector of a query, times the steps of the columns of K.
inline V scaled_query(const CodesWork& w, int query, int v) {
  const uint16_t* q = static_cast<const uint16_t*>(w.a.q) + query * w.a.stride + v * kLanes;
  return vmul(load_bf16(q, w.columns_of(v)), vload(w.key_step + v * kLanes));
}

// Rows of Q as codes; returns by lane the value of one step of a score, NaN where the row or the text holds NaN or infinity.
inline V code_queries(const CodesWork& w, int query, int rows) {
  // As integers NaN and infinity are the largest.
  __m512i high[kCodeRows];
#pragma GCC unroll 6
  for (int row = 0; row < kCodeRows; ++row) {
    high[row] = _mm512_setzero_si512();
    for (int v = 0; row < rows && v < w.layout.vectors; ++v) {
      high[row] = _mm512_max_epi32(high[row], _mm512_castps_si512(vabs(scaled_query(w, query + row, v))));
    }
  }
  const V top = _mm512_castsi512_ps(max_by_lane(high));
  alignas(64) float inverse[kLanes];
  vstore(inverse, _mm512_maskz_div_ps(_mm512_cmp_ps_mask(top, vzero(), _CMP_GT_OQ), vset(127.0F), top));
  for (int row = 0; row < rows; ++row) {
    for (int first = 0; first < w.layout.vectors; first += kBlockVectors) {
      __m512i code[kBlockVectors];
#pragma GCC unroll 4
      for (int i = 0; i < kBlockVectors; ++i) {
        code[i] = _mm512_setzero_si512();
        if (first + i >= w.layout.vectors) continue;
        code[i] = _mm512_cvtps_epi32(vmul(scaled_query(w, query + row, first + i), vset(inverse[kLaneOf[row]])));
      }
      char* out = w.queries + row * w.layout.query_stride + first * kLanes;
      _mm512_storeu_si512(out, pack_signed(code[0], code[1], code[2], code[3]));
    }
  }
  return vfma(top, vset(1.0F / 127), vmul(top, vzero()));
}

}  // namespace
}  // namespace inlay
