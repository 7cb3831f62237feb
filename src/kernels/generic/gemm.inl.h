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
  static constexpr bool kGoesOn = true;  // a tile can begin with the sums of another
  static V finish(const GemmArgs&, int, int, const float* raw) { return vload(raw); }
};

// Integer sums become (scale * q + min) . (b_scale * w) + bias = scale * b_scale * sum + min * b_sum + bias.
struct IntResult {
  static constexpr bool kGoesOn = false;
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

// Panels in parts along k, and where the sums of `panels` panels lie between the parts: [panels, rows, kPanelColumns]. With one
// part, and so one panel at a time, they are those of one tile.
struct Parts {
  int64_t steps = 0;  // of k in all
  int64_t step_bytes = 0;
  int count = 1;
  int panels = 1;
  float* sums = nullptr;

  int64_t begin(int part) const { return steps * part / count; }
};

// One part of one panel.
struct Piece {
  int panel = 0;
  int part = 0;

  const char* of(const GemmArgs& g, const Parts& parts) const {
    return static_cast<const char*>(g.b) + (panel * parts.steps + parts.begin(part)) * parts.step_bytes;
  }
};

// What a piece gives for all rows. While its row tiles run they fetch the next piece into L2, a little in each step, so that
// its first tile does not wait.
template <class T, class R, Activation kActivation, Precision kPrecision>
void run_piece(const GemmArgs& g, const Parts& parts, Piece piece, const char* next, float* sums) {
  const int64_t begin = parts.begin(piece.part);
  const int64_t steps = parts.begin(piece.part + 1) - begin;
  const char* b = piece.of(g, parts);
  const int column = piece.panel * kPanelColumns;
  // Rows are shared out evenly over the tiles: 9 rows are 5 + 4, since a tile of one row would wait for its own latency.
  const int tiles = (g.rows + kTileRows - 1) / kTileRows;
  const int64_t fetch_per_step = parts.step_bytes / tiles;
  int row = 0;
  for (int t = 0; t < tiles; ++t) {
    const int row_end = static_cast<int>(static_cast<int64_t>(g.rows) * (t + 1) / tiles);
    const char* a = static_cast<const char*>(g.a) + row * g.a_stride + begin * T::kLeftBytes;
    const Ahead ahead = {next + t * fetch_per_step * steps, fetch_per_step};
    float* out = parts.count == 1 ? sums : sums + row * kPanelColumns;
    const Start start = piece.part == 0 ? Start{g.bias + column, 0} : Start{out, kPanelColumns};
    by_rows<Tiles<T>, kTileVectors>(row_end - row)(a, g.a_stride, b, steps, start, out, kPanelColumns, ahead);
    if (piece.part + 1 == parts.count) finish_tile<R, kActivation, kPrecision>(g, row, row_end - row, column, out);
    row = row_end;
  }
}

// Panels outside, row tiles inside: a panel of B comes from memory or L3 once, and from L2 or L1 for the other rows.
template <class T, class R, Activation kActivation, Precision kPrecision>
void run_panels(const GemmArgs& g, const Parts& parts) {
  if (g.rows == 0) return;
  for (int first = g.panel_begin; first < g.panel_end; first += parts.panels) {
    const int end = first + parts.panels < g.panel_end ? first + parts.panels : g.panel_end;
    for (Piece piece = {first, 0}; piece.part < parts.count;) {
      Piece next = {piece.panel + 1, piece.part};
      if (next.panel == end) next = {first, piece.part + 1};
      const Piece fetched = next.part < parts.count ? next : Piece{end, 0};
      float* sums = parts.sums + int64_t{piece.panel - first} * g.rows * kPanelColumns;
      run_piece<T, R, kActivation, kPrecision>(g, parts, piece, fetched.of(g, parts), sums);
      piece = next;
    }
  }
}

// Where a row of A is longer than this, a block of rows and two panels no longer fit L2 together, and K is taken in parts.
constexpr int64_t kPartBytes = 4096;
constexpr int kPartRows = 96;  // the most that a block of linear() has
constexpr int kPartPanels = 8;

template <class T, class R, Activation kActivation, Precision kPrecision>
__attribute__((noinline)) void run_in_parts(const GemmArgs& g, Parts parts) {
  alignas(64) float sums[kPartPanels * kPartRows * kPanelColumns];
  parts.panels = kPartPanels;
  parts.sums = sums;
  run_panels<T, R, kActivation, kPrecision>(g, parts);
}

template <class T, class R, Activation kActivation, Precision kPrecision>
void run_gemm(const GemmArgs& g) {
  Parts parts = {.steps = g.k / T::kStep, .step_bytes = kTileVectors * T::kRightBytes};
  const int64_t row_bytes = parts.steps * T::kLeftBytes;
  // A few rows fit as they are.
  if (R::kGoesOn && row_bytes > kPartBytes && g.rows > 2 * kTileRows && g.rows <= kPartRows) {
    parts.count = static_cast<int>((row_bytes + kPartBytes - 1) / kPartBytes);
    return run_in_parts<T, R, kActivation, kPrecision>(g, parts);
  }
  alignas(64) float raw[kTileRows * kPanelColumns];
  parts.sums = raw;
  run_panels<T, R, kActivation, kPrecision>(g, parts);
}

// kPrecision: what the result is rounded to right after, so that a cheaper GELU may be as good.
template <class T, class R, Precision kPrecision>
void gemm(const GemmArgs& g) noexcept {
  with_activation(g.activation, [&]<Activation kActivation>() { run_gemm<T, R, kActivation, kPrecision>(g); });
}

}  // namespace
}  // namespace inlay
