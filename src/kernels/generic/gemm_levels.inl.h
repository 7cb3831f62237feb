// Matrix product with int8 weights that are kept as levels of 4 bits: kL4. Included after a vec.h.
//
// A stretch of a panel becomes int8 in scratch that stays in L1, and the product of int8 reads it there for a block of rows, so
// that unpacking costs a few per cent of it. Sums are exact in 32 bits: where stretches and blocks begin changes no bit.
#pragma once

#include "kernels/generic/format.inl.h"
#include "kernels/levels.h"

namespace inlay {
namespace {

constexpr int kStretch = 512;  // k; 24 KB of scratch where panels have 48 columns, the most there are
constexpr int kLevelRows = 64;

// One panel: codes [k / (2 * kStep)][kPanelColumns][kStep] bytes of two codes, the lower for the first kStep of k, and factors
// [groups, kPanelColumns].
struct LevelPanel {
  const char* codes = nullptr;
  const int8_t* factors = nullptr;
  int group = 0;
};

// k in [begin, end) as int8 [k / kStep][kPanelColumns][kStep]. A group ends where a byte of codes does.
template <class T, class Decoder>
__attribute__((noinline)) void decode_levels(const LevelPanel& panel, int begin, int end, int8_t* out) {
  constexpr int kRowBytes = kPanelColumns * T::kStep;
  constexpr int kColumns = Decoder::kBytes / T::kStep;  // of a vector
  static_assert(kRowBytes % Decoder::kBytes == 0);
  const char* codes = panel.codes + static_cast<int64_t>(begin / (2 * T::kStep)) * kRowBytes;
  for (int k = begin; k < end;) {
    const int group = k / panel.group;
    const int group_end = (group + 1) * panel.group;
    const int pairs = ((group_end < end ? group_end : end) - k) / (2 * T::kStep);
    const int8_t* factors = panel.factors + static_cast<int64_t>(group) * kPanelColumns;
    for (int v = 0; v < kRowBytes / Decoder::kBytes; ++v) {
      const typename Decoder::Factor factor = Decoder::template factor<T::kStep>(factors + v * kColumns);
      const char* from = codes + v * Decoder::kBytes;
      int8_t* to = out + v * Decoder::kBytes;
      for (int i = 0; i < pairs; ++i, from += kRowBytes, to += 2 * kRowBytes) Decoder::decode(from, factor, to, to + kRowBytes);
    }
    codes += static_cast<int64_t>(pairs) * kRowBytes;
    out += static_cast<int64_t>(pairs) * 2 * kRowBytes;
    k += pairs * 2 * T::kStep;
  }
}

// What the tiles of a block of rows read and write for one stretch.
struct LevelBlock {
  const char* a = nullptr;  // at the stretch's first k
  int64_t a_stride = 0;
  int rows = 0;
  const int8_t* b = nullptr;
  int64_t steps = 0;
  const char* next = nullptr;  // codes to fetch meanwhile
  int32_t* sums = nullptr;     // [rows, kPanelColumns]
  bool adds = false;           // to the sums, else it overwrites them
};

template <class T>
void sum_block(const LevelBlock& block) {
  const int tiles = (block.rows + kTileRows - 1) / kTileRows;
  const int64_t fetch = kTileVectors * T::kRightBytes / 2 / tiles;
  alignas(64) int32_t part[kTileRows * kPanelColumns];
  int row = 0;
  for (int i = 0; i < tiles; ++i) {
    const int row_end = static_cast<int>(static_cast<int64_t>(block.rows) * (i + 1) / tiles);
    const Ahead ahead = {block.next + i * fetch * block.steps, fetch};
    int32_t* sums = block.sums + row * kPanelColumns;
    float* out = reinterpret_cast<float*>(block.adds ? part : sums);
    by_rows<Tiles<T>, kTileVectors>(row_end - row)(block.a + row * block.a_stride, block.a_stride,
                                                   reinterpret_cast<const char*>(block.b), block.steps, Start{}, out,
                                                   kPanelColumns, ahead);
    if (block.adds) {
      for (int c = 0; c < (row_end - row) * kPanelColumns; ++c) sums[c] += part[c];
    }
    row = row_end;
  }
}

template <class T, class Decoder, Activation kActivation>
void run_level_gemm(const GemmArgs& g) {
  const int64_t panel_bytes = static_cast<int64_t>(g.k / 2) * kPanelColumns;
  const int64_t groups = (g.k + g.group - 1) / g.group;
  alignas(64) int8_t scratch[kStretch * kPanelColumns];
  alignas(64) int32_t sums[kLevelRows * kPanelColumns];
  for (int panel = g.panel_begin; panel < g.panel_end; ++panel) {
    const LevelPanel p = {static_cast<const char*>(g.b) + panel * panel_bytes, g.b_factor + panel * groups * kPanelColumns,
                          g.group};
    for (int row = 0; row < g.rows; row += kLevelRows) {
      LevelBlock block;
      block.a_stride = g.a_stride;
      block.rows = g.rows - row < kLevelRows ? g.rows - row : kLevelRows;
      block.b = scratch;
      block.sums = sums;
      for (int begin = 0; begin < g.k; begin += kStretch) {
        const int end = g.k - begin < kStretch ? g.k : begin + kStretch;
        decode_levels<T, Decoder>(p, begin, end, scratch);
        block.a = static_cast<const char*>(g.a) + row * g.a_stride + static_cast<int64_t>(begin / T::kStep) * T::kLeftBytes;
        block.steps = (end - begin) / T::kStep;
        block.next = p.codes + panel_bytes + static_cast<int64_t>(begin / 2) * kPanelColumns;
        block.adds = begin > 0;
        sum_block<T>(block);
      }
      finish_tile<IntResult, kActivation, Precision::kCodes>(g, row, block.rows, panel * kPanelColumns,
                                                             reinterpret_cast<const float*>(sums));
    }
  }
}

template <class T, class Decoder>
void level_gemm(const GemmArgs& g) noexcept {
  with_activation(g.activation, [&]<Activation kActivation>() { run_level_gemm<T, Decoder, kActivation>(g); });
}

// Enters the product of int8 and the one whose weights become int8. T multiplies int8, with activations of type Code.
template <class T, class Decoder, class Code>
void set_int8_and_levels(Kernels& table) {
  set_int8<T, Code>(table);
  const int index = static_cast<int>(Format::kL4);
  table.layout[index] = table.layout[static_cast<int>(Format::kI8)];
  table.layout[index].k_step = 2 * T::kStep;
  table.layout[index].weights_per_element = 2;
  table.gemm[index] = level_gemm<T, Decoder>;
  table.peak[index] = peak<T>;
}

}  // namespace
}  // namespace inlay
