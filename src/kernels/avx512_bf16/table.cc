#include "kernels/avx512/vec.h"

#include "kernels/generic/attention.inl.h"
#include "kernels/generic/format.inl.h"

namespace inlay {
namespace {

// Two bf16 a step, summed in float. The instruction flushes subnormal inputs to zero and rounds to nearest even.
struct Bf16 {
  using Sum = V;
  using Left = __m512i;
  using Right = __m512i;
  static constexpr int kStep = 2;
  static constexpr int kLeftBytes = 4;
  static constexpr int kRightBytes = 4 * kLanes;
  static Sum start(const float* bias) { return bias == nullptr ? vzero() : vload(bias); }
  static Left left(const char* p) {
    int pair;
    memcpy(&pair, p, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }
  static Right right(const char* p) { return _mm512_loadu_si512(p); }
  static Sum multiply_add(Sum sum, Left a, Right b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
  static void store(float* p, Sum sum) { vstore(p, sum); }
};

struct Bf16Head {
  using Element = uint16_t;
  using Tile = Bf16;
  static V exponential(V x) { return vexp2_bf16(x); }
  static void store(uint16_t* p, V x) { vstore_bf16(p, x); }
  // Pairs of kLanes columns: the lower half of a word is the first key's.
  static void interleave(const uint16_t* row, const uint16_t* next, uint16_t* out) {
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)));
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(next)));
    _mm512_storeu_si512(out, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }
};

}  // namespace

void fill_avx512_bf16(Kernels& table) {
  set_format<Bf16>(table, Format::kBF16, gemm<Bf16, FloatResult, Precision::kBF16>, 2, 2);
  table.attention_bf16 = attention<Bf16Head>;
  table.attention_bf16_bytes = attention_bytes<Bf16Head>;
}

}  // namespace inlay
