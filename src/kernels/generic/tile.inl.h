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

// out[row, :] = bias + sum over steps of a[row] * b, for kRows rows and kVectors vectors of columns.
// Kept out of line: inlined beside an epilogue, g++ 12 spills the accumulators and the loop runs 2.6 times slower.
template <class T, int kRows, int kVectors>
__attribute__((noinline)) void tile(const char* a, int64_t a_stride, const char* b, int64_t steps, const float* bias,
                                    float* out, int64_t out_stride) {
  typename T::Sum sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = T::start(bias == nullptr ? nullptr : bias + v * kLanes);
  }
  for (int64_t step = 0; step < steps; ++step) {
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
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) T::store(out + row * out_stride + v * kLanes, sum[row][v]);
  }
}

using TileFunction = void (*)(const char*, int64_t, const char*, int64_t, const float*, float*, int64_t);

// The tile for a number of rows in 1..kTileRows.
template <class T, int kVectors>
TileFunction tile_for(int rows) {
  static constexpr TileFunction kTiles[] = {
      tile<T, 1, kVectors>,
      tile<T, 2, kVectors>,
      tile<T, 3, kVectors>,
      tile<T, 4, kVectors>,
      tile<T, 5, kVectors>,
      tile<T, 6, kVectors>,
      tile < T,
      kTileRows < 7 ? kTileRows : 7,
      kVectors >
      , tile < T, kTileRows < 8 ? kTileRows : 8, kVectors >,
  };
  return kTiles[rows - 1];
}

}  // namespace
}  // namespace inlay
