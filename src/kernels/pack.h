// Weights from files to the panels that kernels read.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace inlay {

// A packed matrix of a table's format: sizes that follow from columns (output features) and k (input features).
struct PackedShape {
  int columns = 0;
  int k = 0;
  int padded_k = 0;  // multiple of k_step: what a product reads of each row of activations
  int panel_k = 0;   // multiple of k_step and k_block: what a panel holds
  int panels = 0;
  int padded_columns = 0;  // panels * panel_columns: the length of bias, b_scale and b_sum, and the least stride of c
  size_t bytes = 0;        // of all panels
  // kI4 and kL4 only.
  int group = 0;
  int groups = 0;  // of a column
  bool has_zeros = false;
};
PackedShape packed_shape(const PanelLayout& layout, int columns, int k);
// Of kI4 and kL4: `group` is a multiple of kGroupStep; with `has_zeros` each group of kI4 has a zero of its own.
PackedShape grouped_shape(const PanelLayout& layout, int columns, int k, int group, bool has_zeros);

// Packs output feature `column`, whose weights over k are `row`, into `panels`. Floats, in the format's element type.
// The rest of the buffer must be zero.
void pack_column_f32(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
void pack_column_bf16(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
void pack_column_fp16(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
// Symmetric int8 with one scale a column: scale = max |w| / 127, q = round(w / scale). Gives the scale and scale * sum q.
struct ColumnCodes {
  const int8_t* codes = nullptr;  // [k]
  float scale = 0;
};
struct ColumnScale {
  float scale = 0;
  float sum = 0;
};
ColumnScale pack_column_i8(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
// The same from codes that were chosen before, and their scale.
ColumnScale pack_codes_i8(const PanelLayout& layout, const PackedShape& shape, int column, ColumnCodes row, void* panels);

// A column of kI4: codes of 0..15 [k], and for each group a scale (fp16) and, where the shape has zeros, a zero of 0..15. Where
// it has none, zeros are 8.
struct ColumnGroups {
  const uint8_t* codes = nullptr;
  const uint16_t* scales = nullptr;
  const uint8_t* zeros = nullptr;
};
// Where columns go, as GemmArgs has them: b, b_group_scale and b_zero.
struct GroupPanels {
  void* panels = nullptr;
  uint16_t* scales = nullptr;
  uint8_t* zeros = nullptr;
};
// Gives the sum of the weights, for b_sum.
float pack_column_i4(const PanelLayout& layout, const PackedShape& shape, int column, const ColumnGroups& row,
                     const GroupPanels& out);

// A column of kL4: codes of 0..15 [k], and a factor for each group. Gives scale * sum of the weights, for b_sum.
struct ColumnLevels {
  const uint8_t* codes = nullptr;
  const int8_t* factors = nullptr;
  float scale = 0;
};
float pack_column_l4(const PanelLayout& layout, const PackedShape& shape, int column, const ColumnLevels& row, void* panels,
                     int8_t* factors);

}  // namespace inlay
