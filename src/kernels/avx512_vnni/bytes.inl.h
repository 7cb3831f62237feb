// The product of bytes. Included after avx512/vec.h.
#pragma once

#include <stdint.h>
#include <string.h>

namespace inlay {
namespace {

// Four bytes a step: unsigned activations times signed weights, exact in 32 bits.
struct Bytes {
  using Sum = __m512i;
  using Left = __m512i;
  using Right = __m512i;
  static constexpr int kStep = 4;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 4 * kLanes;
  static Sum start(const float*) { return _mm512_setzero_si512(); }
  static Left left(const char* p) {
    int quad;
    memcpy(&quad, p, sizeof(quad));
    return _mm512_set1_epi32(quad);
  }
  static Right right(const char* p) { return _mm512_loadu_si512(p); }
  static Sum multiply_add(Sum sum, Left a, Right b) { return _mm512_dpbusd_epi32(sum, a, b); }
  static void store(float* p, Sum sum) { _mm512_storeu_si512(p, sum); }
};

}  // namespace
}  // namespace inlay
