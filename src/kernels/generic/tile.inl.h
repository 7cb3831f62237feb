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

// What to fetch into L2 meanwhile: the bytes from `next` on, `advance` of them a step.
struct Ahead {
  const char* next = nullptr;
  int64_t advance = 0;
};

// Where sums begin: zero without `sums`; the same for all rows where `stride` is 0.
struct Start {
  const float* sums = nullptr;
  int64_t stride = 0;
};

// One step of kRows rows and kVectors vectors of columns.
template <class T, int kRows, int kVectors>
__attribute__((always_inline)) inline void step(typename T::Sum (&sum)[kRows][kVectors], const char* a, int64_t a_stride,
                                                const char* b) {
  typename T::Right right[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) right[v] = T::right(b + v * T::kRightBytes);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const typename T::Left left = T::left(a + row * a_stride);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[row][v] = T::multiply_add(sum[row][v], left, right[v]);
  }
}

// Fetches what kSteps steps are to fetch. A line asked for twice costs a place among those under way, so small advances are
// asked for once every few steps: with two 512-bit multiply-add units that is 3 to 5 % of the speed. A tile of few rows, whose
// advance is large, has no time for a loop.
template <int kSteps>
__attribute__((always_inline)) inline void fetch(Ahead& ahead) {
  const int64_t advance = kSteps * ahead.advance;
  if constexpr (kSteps == 1) {
    const int64_t third = advance / 3;  // at most a line, since a step takes at most three vectors of weights
    __builtin_prefetch(ahead.next, 0, 2);
    __builtin_prefetch(ahead.next + third, 0, 2);
    __builtin_prefetch(ahead.next + 2 * third, 0, 2);
  } else {
    for (int64_t line = 0; line < advance; line += 64) __builtin_prefetch(ahead.next + line, 0, 2);
  }
  ahead.next += advance;
}

// Steps of a tile of more than four rows between two fetches.
template <class T>
constexpr int kFetchSteps = 4;

// sum[row] += a[row] * b over the steps. Inlined into the functions below and into the tiles of attention, which are themselves
// kept out of line: beside more code, g++ 12 spills the accumulators and the loop runs 2.6 times slower.
// All lines ahead are asked for: those left to the hardware made one query of 12 tokens take 1.6 times as long.
template <class T, int kRows, int kVectors, bool kPrefetch = false>
__attribute__((always_inline)) inline void accumulate(typename T::Sum (&sum)[kRows][kVectors], const char* a, int64_t a_stride,
                                                      const char* b, int64_t steps, Ahead ahead = {}) {
  if constexpr (kPrefetch) {
    constexpr int kSteps = kRows > 4 ? kFetchSteps<T> : 1;
    for (; steps >= kSteps; steps -= kSteps) {
      fetch<kSteps>(ahead);
      // Unrolled, g++ 12 would mix the steps and have sums of AVX2 on the stack.
#pragma GCC unroll 1
      for (int i = 0; i < kSteps; ++i) {
        step<T, kRows, kVectors>(sum, a, a_stride, b);
        a += T::kLeftBytes;
        b += kVectors * T::kRightBytes;
      }
    }
  }
  for (; steps > 0; --steps) {
    step<T, kRows, kVectors>(sum, a, a_stride, b);
    a += T::kLeftBytes;
    b += kVectors * T::kRightBytes;
  }
}

// out[row, :] = start + a[row] * b.
template <class T, int kRows, int kVectors>
__attribute__((noinline)) void tile(const char* a, int64_t a_stride, const char* b, int64_t steps, const Start& start,
                                    float* out, int64_t out_stride, const Ahead& ahead) {
  typename T::Sum sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sum[row][v] = T::start(start.sums == nullptr ? nullptr : start.sums + row * start.stride + v * kLanes);
    }
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
  using Function = void (*)(const char*, int64_t, const char*, int64_t, const Start&, float*, int64_t, const Ahead&);
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
