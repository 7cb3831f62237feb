#include "kernels/pack.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tensor/half.h"

namespace inlay {
namespace {

template <class Element, class Convert>
void pack_column(const PanelLayout& layout, const PackedShape& shape, int column, void* panels, const Convert& convert) {
  const int panel = column / layout.panel_columns;
  const int64_t per_panel = static_cast<int64_t>(shape.panel_k) * layout.panel_columns;
  Element* out = static_cast<Element*>(panels) + panel * per_panel + (column % layout.panel_columns) * layout.k_step;
  for (int k = 0; k < shape.k; ++k) {
    out[static_cast<int64_t>(k / layout.k_step) * layout.panel_columns * layout.k_step + k % layout.k_step] = convert(k);
  }
}

}  // namespace

namespace {

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

PackedShape packed_shape(const PanelLayout& layout, int columns, int k) {
  PackedShape shape;
  shape.columns = columns;
  shape.k = k;
  shape.padded_k = round_up(k, layout.k_step);
  shape.panel_k = round_up(shape.padded_k, layout.k_block);
  shape.panels = (columns + layout.panel_columns - 1) / layout.panel_columns;
  shape.padded_columns = shape.panels * layout.panel_columns;
  shape.bytes = static_cast<size_t>(shape.padded_columns) * static_cast<size_t>(shape.panel_k) *
                static_cast<size_t>(layout.element_bytes);
  return shape;
}

void pack_column_f32(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels) {
  pack_column<float>(layout, shape, column, panels, [row](int k) { return row[k]; });
}

void pack_column_bf16(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels) {
  pack_column<uint16_t>(layout, shape, column, panels, [row](int k) { return float_to_bf16(row[k]); });
}

void pack_column_fp16(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels) {
  pack_column<uint16_t>(layout, shape, column, panels, [row](int k) { return float_to_fp16(row[k]); });
}

ColumnScale pack_column_i8(const PanelLayout& layout, const PackedShape& shape, int column, const float* row, void* panels) {
  float highest = 0;
  for (int k = 0; k < shape.k; ++k) highest = std::max(highest, std::abs(row[k]));
  ColumnScale result;
  result.scale = highest / 127.0F;
  const float inverse = highest > 0 ? 127.0F / highest : 0.0F;
  int64_t total = 0;
  pack_column<int8_t>(layout, shape, column, panels, [&](int k) {
    const float code = std::clamp(std::nearbyint(row[k] * inverse), -127.0F, 127.0F);
    total += static_cast<int64_t>(code);
    return static_cast<int8_t>(code);
  });
  result.sum = result.scale * static_cast<float>(total);
  return result;
}

}  // namespace inlay
