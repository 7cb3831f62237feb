// Kernels that work on one row at a time: layer norm and conversions. Included after a vec.h.
#pragma once

#include "kernels/generic/math.inl.h"
#include "kernels/kernels.h"

namespace inlay {
namespace {

// Sum over the first `columns` of f(x): whole vectors first, then the last lanes with the others at zero.
template <class F>
inline float sum_row(const float* x, int columns, const F& f) {
  V sum = vzero();
  int c = 0;
  for (; c + kLanes <= columns; c += kLanes) sum = vadd(sum, f(vload(x + c)));
  if (c < columns) sum = vadd(sum, vkeep_first(f(vload_first(x + c, columns - c)), columns - c, vzero()));
  return vsum(sum);
}

// Two passes: E[x^2] - E[x]^2 would lose 1e-4 on outlier channels.
inline void layer_norm(const LayerNormArgs& n) noexcept {
  const float per_column = 1.0F / static_cast<float>(n.columns);
  for (int row = 0; row < n.rows; ++row) {
    const float* x = n.x + row * n.stride;
    float* y = n.y + row * n.stride;
    const V mean = vset(sum_row(x, n.columns, [](V value) { return value; }) * per_column);
    const auto squared = [&](V value) {
      const V centred = vsub(value, mean);
      return vmul(centred, centred);
    };
    const float variance = sum_row(x, n.columns, squared) * per_column;
    const V inverse = vset(1.0F / __builtin_sqrtf(variance + n.eps));
    for (int c = 0; c < n.columns; c += kLanes) {
      // Padding lanes get 0 because gamma and beta are 0 there.
      const V centred = vkeep_first(vsub(vload(x + c), mean), n.columns - c < kLanes ? n.columns - c : kLanes, vzero());
      vstore(y + c, vfma(vmul(centred, inverse), vload(n.gamma + c), vload(n.beta + c)));
    }
  }
}

inline void to_bf16(const ConvertArgs& a) noexcept {
  for (int row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.x_stride;
    uint16_t* y = static_cast<uint16_t*>(a.y) + row * a.y_stride;
    for (int c = 0; c < a.padded; c += kLanes) vstore_bf16(y + c, vload(x + c));
  }
}

// A row that holds NaN or infinity gets a NaN scale, so that it stays an error in everything computed from it.
template <class Code>
void to_codes(const ConvertArgs& a) noexcept {
  for (int row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.x_stride;
    Code* y = static_cast<Code*>(a.y) + row * a.y_stride;
    V low = vset(x[0]);
    V high = low;
    V spread = vzero();
    for (int c = 0; c < a.columns; c += kLanes) {
      const int count = a.columns - c < kLanes ? a.columns - c : kLanes;
      const V value = count == kLanes ? vload(x + c) : vkeep_first(vload_first(x + c, count), count, low);
      low = vmin(value, low);
      high = vmax(value, high);
      spread = vfma(value, vzero(), spread);  // 0, or NaN once a value is not finite.
    }
    const float minimum = vmin_all(low) + vsum(spread);
    const float range = vmax_all(high) - minimum;
    const float scale = range * (1.0F / 255.0F);
    a.scale[row] = scale;
    a.minimum[row] = minimum;
    const V inverse = vset(range > 0 ? 255.0F / range : 0.0F);
    const V base = vset(-minimum * (range > 0 ? 255.0F / range : 0.0F));
    for (int c = 0; c < a.padded; c += kLanes) {
      const V code = vround(vfma(vload(x + c), inverse, base));
      vstore_code(y + c, vmin(vset(255.0F), vmax(vzero(), code)));
    }
  }
}

inline void activate(Activation activation, float* x, int64_t count) noexcept {
  with_activation(activation, [&]<Activation kActivation>() {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) vstore(x + i, vactivate<kActivation, false>(vload(x + i)));
    const int rest = static_cast<int>(count - i);
    if (rest > 0) vstore_first(x + i, vactivate<kActivation, false>(vload_first(x + i, rest)), rest);
  });
}

}  // namespace
}  // namespace inlay
