// Matrix product with its epilogue, over any tile type. Included after a vec.h.
#pragma once

#include "kernels/generic/math.inl.h"
#include "kernels/generic/tile.inl.h"
#include "kernels/kernels.h"

namespace inlay {
namespace {

constexpr int kPanelColumns = kTileVectors * kLanes;

// Float sums are final as the tile left them: the bias was their start.
struct FloatResult {
  static V finish(const GemmArgs&, int, int, const float* raw) { return vload(raw); }
};

// Integer sums become (scale * q + min) . (b_scale * w) + bias = scale * b_scale * sum + min * b_sum + bias.
struct IntResult {
  static V finish(const GemmArgs& g, int row, int column, const float* raw) {
    const V sum = vmul(vload_int(reinterpret_cast<const int32_t*>(raw)), vload(g.b_scale + column));
    const V base = vfma(vset(g.a_min[row]), vload(g.b_sum + column), vload(g.bias + column));
    return vfma(vset(g.a_scale[row]), sum, base);
  }
};

// Activation, residual and store of one tile that lies in `raw` ([rows, kPanelColumns]).
template <class R, Activation kActivation, Precision kPrecision>
void finish_tile(const GemmArgs& g, int row_begin, int rows, int column, const float* raw) {
  for (int r = 0; r < rows; ++r, raw += kPanelColumns) {
    const int row = row_begin + r;
    V x[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      x[v] = vactivate<kActivation, kPrecision>(R::finish(g, row, column + v * kLanes, raw + v * kLanes));
    }
    if (g.residual != nullptr) {
      const float* residual = g.residual + row * g.residual_stride + column;
      for (int v = 0; v < kTileVectors; ++v) x[v] = vadd(x[v], vload(residual + v * kLanes));
    }
    if (g.c_is_bf16) {
      uint16_t* c = static_cast<uint16_t*>(g.c) + row * g.c_stride + column;
      for (int v = 0; v < kTileVectors; ++v) vstore_bf16(c + v * kLanes, x[v]);
    } else {
      float* c = static_cast<float*>(g.c) + row * g.c_stride + column;
      for (int v = 0; v < kTileVectors; ++v) vstore(c + v * kLanes, x[v]);
    }
  }
}

// Panels outside, row tiles inside: a panel of B (K * panel bytes) comes from memory or L3 once, and from L2 or L1 for the
// other rows. While the row tiles of one panel run they fetch the next panel into L2, a little in each step, so that its first
// tile does not wait.
template <class T, class R, Activation kActivation, Precision kPrecision>
void run_gemm(const GemmArgs& g) {
  const int64_t steps = g.k / T::kStep;
  const int64_t panel_bytes = steps * kTileVectors * T::kRightBytes;
  // Rows are shared out evenly over the tiles: 9 rows are 5 + 4, since a tile of one row would wait for its own latency.
  const int tiles = (g.rows + kTileRows - 1) / kTileRows;
  if (tiles == 0) return;
  const int64_t fetch_per_step = kTileVectors * T::kRightBytes / tiles;
  alignas(64) float raw[kTileRows * kPanelColumns];
  for (int panel = g.panel_begin; panel < g.panel_end; ++panel) {
    const char* b = static_cast<const char*>(g.b) + panel * panel_bytes;
    const int column = panel * kPanelColumns;
    int row = 0;
    for (int t = 0; t < tiles; ++t) {
      const int row_end = static_cast<int>(static_cast<int64_t>(g.rows) * (t + 1) / tiles);
      const char* a = static_cast<const char*>(g.a) + row * g.a_stride;
      const Ahead ahead = {b + panel_bytes + t * fetch_per_step * steps, fetch_per_step};
      by_rows<Tiles<T>, kTileVectors>(row_end - row)(a, g.a_stride, b, steps, g.bias + column, raw, kPanelColumns, ahead);
      finish_tile<R, kActivation, kPrecision>(g, row, row_end - row, column, raw);
      row = row_end;
    }
  }
}

// kPrecision: what the result is rounded to right after, so that a cheaper GELU may be as good.
template <class T, class R, Precision kPrecision>
void gemm(const GemmArgs& g) noexcept {
  with_activation(g.activation, [&]<Activation kActivation>() { run_gemm<T, R, kActivation, kPrecision>(g); });
}

}  // namespace
}  // namespace inlay
