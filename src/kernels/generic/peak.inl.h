// What the multiply-add units of this core can do at most: independent register-only chains. Included after a vec.h and
// tile.inl.h.
#pragma once

#include "kernels/generic/tile.inl.h"

// How inline assembly names a vector register.
#if defined(__aarch64__)
#define INLAY_VECTOR_OPERAND "+w"
#else
#define INLAY_VECTOR_OPERAND "+v"
#endif

namespace inlay {
namespace {

// Twelve chains hide the latency of four to five cycles of two units. The empty asm keeps the compiler from folding the loop.
template <class T>
double peak(int64_t iterations) noexcept {
  constexpr int kChains = 12;
  constexpr double kColumns = kLanes;
  alignas(64) char zeros[256] = {};
  typename T::Sum sum[kChains];
  const typename T::Left left = T::left(zeros);
  const typename T::Right right = T::right(zeros);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum[i] = T::start(nullptr);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) {
      sum[i] = T::multiply_add(sum[i], left, right);
      __asm__ volatile("" : INLAY_VECTOR_OPERAND(sum[i]));
    }
  }
  return 2.0 * kChains * kColumns * T::kStep * static_cast<double>(iterations);
}

}  // namespace
}  // namespace inlay
