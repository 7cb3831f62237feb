// What newer encoders need besides layer norm: root-mean-square norm, rotary positions, gated activations. Included after a
// vec.h.
#pragma once

#include "kernels/generic/rows.inl.h"

namespace inlay {
namespace {

// The lanes from `column` on that a row of `columns` has; others are zero.
inline V load_part(const float* x, int column, int columns) {
  const int count = columns - column;
  return count >= kLanes ? vload(x + column) : vload_first(x + column, count);
}

inline void store_part(float* y, int column, int columns, V x) {
  const int count = columns - column;
  if (count >= kLanes) return vstore(y + column, x);
  vstore_first(y + column, x, count);
}

inline void rms_norm(const RmsNormArgs& n) noexcept {
  const float per_column = 1.0F / static_cast<float>(n.columns);
  for (int row = 0; row < n.rows; ++row) {
    const float* x = n.x + row * n.x_stride;
    float* y = n.y + row * n.y_stride;
    const float mean = sum_row(x, n.columns, [](V value) { return vmul(value, value); }) * per_column;
    const V inverse = vset(1.0F / __builtin_sqrtf(mean + n.eps));
    for (int c = 0; c < n.columns; c += kLanes) {
      store_part(y, c, n.columns, vmul(vmul(load_part(x, c, n.columns), inverse), vload(n.gamma + c)));
    }
    for (int c = n.columns; c < n.padded; ++c) y[c] = 0;
  }
}

inline void rotate(const RotateArgs& a) noexcept {
  for (int head = 0; head < a.heads; ++head) {
    float* low = a.x + head * a.stride;
    float* high = low + a.half;
    for (int j = 0; j < a.half; j += kLanes) {
      const V cosine = load_part(a.cosine, j, a.half);
      const V sine = load_part(a.sine, j, a.half);
      const V x = load_part(low, j, a.half);
      const V y = load_part(high, j, a.half);
      store_part(low, j, a.half, vsub(vmul(x, cosine), vmul(y, sine)));
      store_part(high, j, a.half, vfma(y, cosine, vmul(x, sine)));
    }
  }
}

template <Activation kActivation>
inline void gate_row(const float* active, const float* plain, float* y, uint16_t* narrow, int columns) {
  for (int c = 0; c < columns; c += kLanes) {
    const V x = vmul(vactivate<kActivation, Precision::kFloat>(load_part(active, c, columns)), load_part(plain, c, columns));
    if (narrow == nullptr) {
      store_part(y, c, columns, x);
    } else if (columns - c >= kLanes) {
      vstore_bf16(narrow + c, x);
    } else {
      uint16_t bits[kLanes];
      vstore_bf16(bits, x);
      memcpy(narrow + c, bits, (columns - c) * sizeof(uint16_t));
    }
  }
}

inline void gate(const GateArgs& g) noexcept {
  with_activation(g.activation, [&]<Activation kActivation>() {
    for (int row = 0; row < g.rows; ++row) {
      const float* x = g.x + row * g.x_stride;
      const float* active = g.activates_first ? x : x + g.columns;
      const float* plain = g.activates_first ? x + g.columns : x;
      float* y = g.y_is_bf16 ? nullptr : static_cast<float*>(g.y) + row * g.y_stride;
      uint16_t* narrow = g.y_is_bf16 ? static_cast<uint16_t*>(g.y) + row * g.y_stride : nullptr;
      gate_row<kActivation>(active, plain, y, narrow, g.columns);
      for (int c = g.columns; c < g.padded; ++c) {
        if (g.y_is_bf16)
          narrow[c] = 0;
        else
          y[c] = 0;
      }
    }
  });
}

}  // namespace
}  // namespace inlay
