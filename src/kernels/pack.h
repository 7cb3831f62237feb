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
};
PackedShape packed_shape(const PanelLayout& layout, int columns, int k);

// Packs output feature `column`, whose weights over k are `row`, into `panels`. Floats, in the format's element type.
// The rest of the buffer must be zero.
void pack_column_f32(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
void pack_column_bf16(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
void pack_column_fp16(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);
// Symmetric int8 with one scale a column: scale = max |w| / 127, q = round(w / scale). Gives the scale and scale * sum q.
struct ColumnScale {
  float scale = 0;
  float sum = 0;
};
ColumnScale pack_column_i8(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels);

}  // namespace inlay
