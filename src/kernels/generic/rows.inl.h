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

// What a row is normalised by: y = (x - mean - rest) * inverse. `mean` is a rounded float sum and `rest` the mean of what it
// leaves, which far from zero is as large as the digits that count.
struct RowStatistics {
  V mean;
  V rest;
  V inverse;
};

// Two passes: E[x^2] - E[x]^2 would lose 1e-4 on outlier channels.
inline RowStatistics row_statistics(const float* x, int columns, float eps) {
  const float per_column = 1.0F / static_cast<float>(columns);
  RowStatistics s;
  s.mean = vset(sum_row(x, columns, [](V value) { return value; }) * per_column);
  V sum = vzero();
  V squares = vzero();
  for (int c = 0; c < columns; c += kLanes) {
    const int count = columns - c < kLanes ? columns - c : kLanes;
    const V centred =
        count == kLanes ? vsub(vload(x + c), s.mean) : vkeep_first(vsub(vload_first(x + c, count), s.mean), count, vzero());
    sum = vadd(sum, centred);
    squares = vfma(centred, centred, squares);
  }
  const float rest = vsum(sum) * per_column;
  s.rest = vset(rest);
  const float variance = vsum(squares) * per_column - rest * rest;
  s.inverse = vset(1.0F / __builtin_sqrtf((variance < 0 ? 0 : variance) + eps));
  return s;
}

inline void layer_norm(const LayerNormArgs& n) noexcept {
  for (int row = 0; row < n.rows; ++row) {
    const float* x = n.x + row * n.stride;
    float* y = n.y + row * n.stride;
    const RowStatistics s = row_statistics(x, n.columns, n.eps);
    for (int c = 0; c < n.columns; c += kLanes) {
      const int count = n.columns - c < kLanes ? n.columns - c : kLanes;
      // Padding lanes get 0 because gamma and beta are 0 there.
      const V centred = vkeep_first(vsub(vsub(vload(x + c), s.mean), s.rest), count, vzero());
      vstore(y + c, vfma(vmul(centred, s.inverse), vload(n.gamma + c), vload(n.beta + c)));
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
// kFirst is the code of the row's smallest value.
template <class Code, int kFirst>
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
    a.minimum[row] = kFirst == 0 ? minimum : minimum - scale * static_cast<float>(kFirst);
    const V inverse = vset(range > 0 ? 255.0F / range : 0.0F);
    const V base = vset(-minimum * (range > 0 ? 255.0F / range : 0.0F));
    for (int c = 0; c < a.padded; c += kLanes) {
      const V code = vround(vfma(vload(x + c), inverse, base));
      // NaN, from a bad row or an infinite inverse, becomes 0: the second operand wins.
      const V bounded = vmin(vset(255.0F), vmax(code, vzero()));
      vstore_code(y + c, kFirst == 0 ? bounded : vadd(bounded, vset(static_cast<float>(kFirst))));
    }
  }
}

inline void activate(Activation activation, float* x, int64_t count) noexcept {
  with_activation(activation, [&]<Activation kActivation>() {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) vstore(x + i, vactivate<kActivation, Precision::kFloat>(vload(x + i)));
    const int rest = static_cast<int>(count - i);
    if (rest > 0) vstore_first(x + i, vactivate<kActivation, Precision::kFloat>(vload_first(x + i, rest)), rest);
  });
}

}  // namespace
}  // namespace inlay
