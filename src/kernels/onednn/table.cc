// bf16 and int8 products by oneDNN, with the epilogues of the other tables.
#include "kernels/avx512/vec.h"

#include "kernels/generic/gemm.inl.h"
#include "kernels/onednn_sums.h"

namespace inlay {
namespace {

static_assert(kOneDnnPanelColumns == kPanelColumns);

struct Bf16Product {
  static constexpr bool kIsInt8 = false;
  static constexpr int kElementBytes = 2;
  static constexpr int kStep = 2;
  // Sums without the bias, unlike those of our own tiles.
  static V finish(const GemmArgs& g, int, int column, const float* raw) { return vadd(vload(raw), vload(g.bias + column)); }
};

struct Int8Product : IntResult {
  static constexpr bool kIsInt8 = true;
  static constexpr int kElementBytes = 1;
  static constexpr int kStep = 4;
};

template <class P, Activation kActivation, Precision kPrecision>
void finish(const GemmArgs& g, int rows, int column, int panels, const float* sums) {
  // finish_tile() reads tiles as our own kernels leave them, without columns of other panels between the rows.
  alignas(64) float raw[kOneDnnRows * kPanelColumns];
  for (int panel = 0; panel < panels; ++panel) {
    for (int row = 0; row < rows; ++row) {
      memcpy(raw + row * kPanelColumns, sums + (row * panels + panel) * kPanelColumns, kPanelColumns * sizeof(float));
    }
    finish_tile<P, kActivation, kPrecision>(g, 0, rows, column + panel * kPanelColumns, raw);
  }
}

// `g` moved on by so many rows.
GemmArgs from_row(const GemmArgs& g, int row) {
  GemmArgs moved = g;
  moved.a = static_cast<const char*>(g.a) + row * g.a_stride;
  moved.c = static_cast<char*>(g.c) + row * g.c_stride * (g.c_is_bf16 ? 2 : 4);
  if (g.residual != nullptr) moved.residual = g.residual + row * g.residual_stride;
  if (g.a_scale != nullptr) moved.a_scale = g.a_scale + row;
  if (g.a_min != nullptr) moved.a_min = g.a_min + row;
  return moved;
}

template <class P, Activation kActivation, Precision kPrecision>
void run_gemm(const GemmArgs& g) {
  constexpr int kBlock = 16 * P::kStep;
  const int64_t panel_bytes = static_cast<int64_t>((g.k + kBlock - 1) / kBlock * kBlock) * kPanelColumns * P::kElementBytes;
  for (int panel = g.panel_begin; panel < g.panel_end; panel += kOneDnnPanels) {
    const int panels = g.panel_end - panel < kOneDnnPanels ? g.panel_end - panel : kOneDnnPanels;
    const char* b = static_cast<const char*>(g.b) + panel * panel_bytes;
    for (int row = 0; row < g.rows; row += kOneDnnRows) {
      const GemmArgs part = from_row(g, row);
      const int rows = g.rows - row < kOneDnnRows ? g.rows - row : kOneDnnRows;
      const OneDnnProduct product = {P::kIsInt8, rows, g.k, g.a_stride / P::kElementBytes, panels};
      const float* sums = static_cast<const float*>(onednn_sums(product, part.a, b));
      finish<P, kActivation, kPrecision>(part, rows, panel * kPanelColumns, panels, sums);
    }
  }
}

template <class P, Precision kPrecision>
void gemm(const GemmArgs& g) noexcept {
  with_activation(g.activation, [&]<Activation kActivation>() { run_gemm<P, kActivation, kPrecision>(g); });
}

// The product itself over operands that stay in L2: the units that oneDNN uses cannot be asked for by other means.
template <class P>
double peak(int64_t iterations) noexcept {
  constexpr int kK = 1024;
  constexpr int kPanels = 2;
  alignas(64) static char zeros[kK * kPanels * kPanelColumns * 2];
  const OneDnnProduct product = {P::kIsInt8, kOneDnnRows, kK, kK, kPanels};
  for (int64_t i = 0; i < iterations; ++i) onednn_sums(product, zeros, zeros);
  return 2.0 * kOneDnnRows * kK * kPanels * kPanelColumns * static_cast<double>(iterations);
}

template <class P, Precision kPrecision>
void set(Kernels& table, Format format) {
  const int index = static_cast<int>(format);
  table.layout[index] = {.panel_columns = kPanelColumns,
                         .k_step = P::kStep,
                         .element_bytes = P::kElementBytes,
                         .activation_bytes = P::kElementBytes,
                         .k_block = 16 * P::kStep};
  table.gemm[index] = gemm<P, kPrecision>;
  table.peak[index] = peak<P>;
}

}  // namespace

void fill_onednn(Kernels& table) {
  set<Bf16Product, Precision::kBF16>(table, Format::kBF16);
  set<Int8Product, Precision::kCodes>(table, Format::kI8);
}

}  // namespace inlay
