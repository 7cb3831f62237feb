// The register tile that every matrix product is made of. Included after a vec.h.
#pragma once

#include <stdint.h>
#include <string.h>

namespace inlay {
namespace {

// float x float: one k a step.
struct F32 {
  using Sum = V;
  using Left = V;
  using Right = V;
  static constexpr int kStep = 1;                 // k per step
  static constexpr int kLeftBytes = 4;            // of a row of A per step
  static constexpr int kRightBytes = 4 * kLanes;  // of a vector of columns per step
  static Sum start(const float* bias) { return bias == nullptr ? vzero() : vload(bias); }
  static Left left(const char* p) {
    float x;
    memcpy(&x, p, sizeof(x));
    return vset(x);
  }
  static Right right(const char* p) { return vload(reinterpret_cast<const float*>(p)); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return vfma(a, b, sum); }
  static void store(float* p, Sum sum) { vstore(p, sum); }
};

// float x 16-bit float weights, widened as they are loaded.
struct F32ByBf16 : F32 {
  static constexpr int kRightBytes = 2 * kLanes;
  static Right right(const char* p) { return vload_bf16(reinterpret_cast<const uint16_t*>(p)); }
};
struct F32ByFp16 : F32 {
  static constexpr int kRightBytes = 2 * kLanes;
  static Right right(const char* p) { return vload_fp16(reinterpret_cast<const uint16_t*>(p)); }
};

// sum[row] += a[row] * b over the steps, for kRows rows and kVectors vectors of columns. Inlined into the functions below and
// into the tiles of attention, which are themselves kept out of line: beside more code, g++ 12 spills the accumulators and the
// loop runs 2.6 times slower.
// Each step asks for the `ahead.advance` bytes at `ahead.next`, at most three cache lines, and moves on by so many. All lines
// are asked for: those left to the hardware made one query of 12 tokens take 1.6 times as long.
struct Ahead {
  const char* next = nullptr;
  int64_t advance = 0;
};

template <class T, int kRows, int kVectors, bool kPrefetch = false>
__attribute__((always_inline)) inline void accumulate(typename T::Sum (&sum)[kRows][kVectors], const char* a, int64_t a_stride,
                                                      const char* b, int64_t steps, Ahead ahead = {}) {
  const int64_t third = ahead.advance / 3;  // at most a line, since a step takes at most three vectors of weights
  for (; steps > 0; --steps) {
    if constexpr (kPrefetch) {
      __builtin_prefetch(ahead.next, 0, 2);
      __builtin_prefetch(ahead.next + third, 0, 2);
      __builtin_prefetch(ahead.next + 2 * third, 0, 2);
      ahead.next += ahead.advance;
    }
    typename T::Right right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = T::right(b + v * T::kRightBytes);
    b += kVectors * T::kRightBytes;
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const typename T::Left left = T::left(a + row * a_stride);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[row][v] = T::multiply_add(sum[row][v], left, right[v]);
    }
    a += T::kLeftBytes;
  }
}

// out[row, :] = bias + a[row] * b.
template <class T, int kRows, int kVectors>
__attribute__((noinline)) void tile(const char* a, int64_t a_stride, const char* b, int64_t steps, const float* bias,
                                    float* out, int64_t out_stride, const Ahead& ahead) {
  typename T::Sum sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = T::start(bias == nullptr ? nullptr : bias + v * kLanes);
  }
  accumulate<T, kRows, kVectors, true>(sum, a, a_stride, b, steps, ahead);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) T::store(out + row * out_stride + v * kLanes, sum[row][v]);
  }
}

// A family of functions by shape: Function, and kTile<rows, vectors>.
template <class T>
struct Tiles {
  using Function = void (*)(const char*, int64_t, const char*, int64_t, const float*, float*, int64_t, const Ahead&);
  template <int kRows, int kVectors>
  static constexpr Function kTile = tile<T, kRows, kVectors>;
};

template <class Family, int kVectors>
typename Family::Function by_rows(int rows) {
  static constexpr typename Family::Function kTiles[] = {
      Family::template kTile<1, kVectors>,
      Family::template kTile<2, kVectors>,
      Family::template kTile<3, kVectors>,
      Family::template kTile<4, kVectors>,
      Family::template kTile<5, kVectors>,
      Family::template kTile<6, kVectors>,
      Family::template kTile<(kTileRows < 7 ? kTileRows : 7), kVectors>,
      Family::template kTile<(kTileRows < 8 ? kTileRows : 8), kVectors>,
  };
  return kTiles[rows - 1];
}

// The member for 1..kTileRows rows and 1..kTileVectors vectors of columns.
template <class Family>
typename Family::Function by_shape(int rows, int vectors) {
  if (vectors == 1) return by_rows<Family, 1>(rows);
  return vectors == 2 ? by_rows<Family, 2>(rows) : by_rows<Family, kTileVectors>(rows);
}

}  // namespace
}  // namespace inlay
