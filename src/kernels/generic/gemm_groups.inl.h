// Matrix product with 4-bit weights that have a scale for each group of k: kI4. Included after a vec.h.
//
// A byte holds two weights of one column, T::kStep k apart, and they become bytes again in registers, once for the rows of a
// tile. The sum of a group is exact in 32 bits; groups are then added in float, in the order of k. That order is the same in
// every table, so all tables whose codes begin at 0 give the same sums bit for bit.
#pragma once

#include "kernels/generic/gemm.inl.h"
#include "kernels/generic/peak.inl.h"
#include "kernels/generic/rows.inl.h"

namespace inlay {
namespace {

// What a tile of some rows of one panel reads of one group.
struct GroupTile {
  const char* a = nullptr;
  int64_t a_stride = 0;
  const char* b = nullptr;  // [pairs][kPanelColumns][T::kStep] bytes
  int64_t pairs = 0;        // of steps
  const uint16_t* scale = nullptr;
  const uint8_t* zero = nullptr;
  float* out = nullptr;  // [rows, kPanelColumns]
};

// sum[row] += a[row] * b over pairs of steps.
template <class T, bool kZeros, int kRows>
__attribute__((always_inline)) inline void accumulate_pairs(typename T::Sum (&sum)[kRows][kTileVectors], const GroupTile& t,
                                                            const typename T::Right (&zero)[kTileVectors], Ahead ahead) {
  const char* a = t.a;
  const char* b = t.b;
  const int64_t a_stride = t.a_stride;
  for (int64_t pairs = t.pairs; pairs > 0; --pairs) {
    __builtin_prefetch(ahead.next, 0, 2);
    ahead.next += ahead.advance;
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      typename T::Right right[kTileVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        const typename T::Right packed = T::packed(b + v * T::kRightBytes);
        if constexpr (kZeros) {
          right[v] = T::less_zero(half == 0 ? T::low_code(packed) : T::high_code(packed), zero[v]);
        } else {
          right[v] = half == 0 ? T::low_weight(packed) : T::high_weight(packed);
        }
      }
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const typename T::Left left = T::left(a + row * a_stride + half * T::kLeftBytes);
#pragma GCC unroll 4
        for (int v = 0; v < kTileVectors; ++v) {
          sum[row][v] = T::multiply_add(sum[row][v], left, right[v]);
          // Keeps the sum in its register: g++ 12 would move the sums of one half aside, to the stack, for those of the next.
          __asm__("" : INLAY_VECTOR_OPERAND(sum[row][v]));
        }
      }
    }
    b += kTileVectors * T::kRightBytes;
    a += 2 * T::kLeftBytes;
  }
}

// out[row, :] += scale * (exact sum of the group). `out` lies in L1 between groups, since its accumulators and those of the
// group do not fit the registers together. One group a call: in a loop over groups g++ 12 spills the accumulators.
template <class T, bool kZeros, int kRows>
__attribute__((noinline)) void group_tile(const GroupTile& t, const Ahead& ahead) {
  typename T::Sum sum[kRows][kTileVectors];
  typename T::Right zero[kTileVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) {
    if constexpr (kZeros) zero[v] = T::zero(t.zero + v * kLanes);
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) sum[row][v] = T::start(nullptr);
  }
  accumulate_pairs<T, kZeros, kRows>(sum, t, zero, ahead);
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) {
    const V factor = vload_fp16(t.scale + v * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      float* out = t.out + row * kPanelColumns + v * kLanes;
      vstore(out, vfma(vfrom_int(sum[row][v]), factor, vload(out)));
    }
  }
}

template <class T, bool kZeros>
struct GroupTiles {
  using Function = void (*)(const GroupTile&, const Ahead&);
  template <int kRows, int kVectors>
  static constexpr Function kTile = group_tile<T, kZeros, kRows>;
};

// Sums of groups are final but for the activation's scale and minimum.
template <bool kZeros, class T>
struct GroupResult {
  static V finish(const GemmArgs& g, int row, int column, const float* raw) {
    const V sum = kZeros ? vload(raw) : vmul(vload(raw), vset(T::kWeightUnit));
    const V base = vfma(vset(g.a_min[row]), vload(g.b_sum + column), vload(g.bias + column));
    return vfma(vset(g.a_scale[row]), sum, base);
  }
};

// Where the groups of a panel begin.
struct GroupPanel {
  const char* b = nullptr;
  const uint16_t* scale = nullptr;
  const uint8_t* zero = nullptr;
  int64_t pairs = 0;        // of steps, in all of k
  int64_t group_pairs = 0;  // of a group; the last may be shorter
};

// out[rows, kPanelColumns] = the sums over all groups of rows that begin at `a`.
template <class T, bool kZeros>
void sum_groups(const GemmArgs& g, const GroupPanel& panel, const char* a, int rows, float* out, Ahead ahead) {
  const typename GroupTiles<T, kZeros>::Function tile = by_rows<GroupTiles<T, kZeros>, kTileVectors>(rows);
  GroupTile t = {a, g.a_stride, panel.b, panel.group_pairs, panel.scale, panel.zero, out};
  for (int i = 0; i < rows * kPanelColumns; i += kLanes) vstore(out + i, vzero());
  for (int64_t left = panel.pairs; left > 0; left -= panel.group_pairs) {
    t.pairs = left < panel.group_pairs ? left : panel.group_pairs;
    tile(t, ahead);
    ahead.next += t.pairs * ahead.advance;
    t.a += t.pairs * 2 * T::kLeftBytes;
    t.b += t.pairs * kTileVectors * T::kRightBytes;
    t.scale += kPanelColumns;
    if constexpr (kZeros) t.zero += kPanelColumns;
  }
}

template <class T, bool kZeros, Activation kActivation>
void run_group_gemm(const GemmArgs& g) {
  const int tiles = (g.rows + T::kRows - 1) / T::kRows;
  if (tiles == 0) return;
  GroupPanel p;
  p.pairs = g.k / (2 * T::kStep);
  p.group_pairs = g.group / (2 * T::kStep);
  const int64_t groups = (p.pairs + p.group_pairs - 1) / p.group_pairs;
  const int64_t panel_bytes = p.pairs * kTileVectors * T::kRightBytes;
  const int64_t fetch_per_pair = kTileVectors * T::kRightBytes / tiles;
  alignas(64) float raw[T::kRows * kPanelColumns];
  for (int panel = g.panel_begin; panel < g.panel_end; ++panel) {
    const int column = panel * kPanelColumns;
    p.b = static_cast<const char*>(g.b) + panel * panel_bytes;
    p.scale = g.b_group_scale + panel * groups * kPanelColumns;
    if (kZeros) p.zero = g.b_zero + panel * groups * kPanelColumns;
    int row = 0;
    for (int i = 0; i < tiles; ++i) {
      const int row_end = static_cast<int>(static_cast<int64_t>(g.rows) * (i + 1) / tiles);
      const char* a = static_cast<const char*>(g.a) + row * g.a_stride;
      const Ahead ahead = {p.b + panel_bytes + i * fetch_per_pair * p.pairs, fetch_per_pair};
      sum_groups<T, kZeros>(g, p, a, row_end - row, raw, ahead);
      finish_tile<GroupResult<kZeros, T>, kActivation, Precision::kCodes>(g, row, row_end - row, column, raw);
      row = row_end;
    }
  }
}

template <class T>
void group_gemm(const GemmArgs& g) noexcept {
  with_activation(g.activation, [&]<Activation kActivation>() {
    if (g.b_zero == nullptr)
      run_group_gemm<T, false, kActivation>(g);
    else
      run_group_gemm<T, true, kActivation>(g);
  });
}

// Enters the 4-bit product and the conversion to the codes that it reads. Codes of int8_t are shifted to begin at -128.
template <class T, class Code>
void set_int4(Kernels& table) {
  constexpr int kFirst = sizeof(Code) == 1 && static_cast<Code>(-1) < 0 ? -128 : 0;
  const int index = static_cast<int>(Format::kI4);
  table.layout[index] = {.panel_columns = kPanelColumns,
                         .k_step = 2 * T::kStep,
                         .element_bytes = 1,
                         .activation_bytes = sizeof(Code),
                         .first_code = kFirst,
                         .weights_per_element = 2};
  table.gemm[index] = group_gemm<T>;
  table.peak[index] = peak<T>;
  table.to_codes_i4 = to_codes<Code, kFirst>;
}

}  // namespace
}  // namespace inlay
