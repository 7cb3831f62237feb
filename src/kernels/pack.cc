#include "kernels/pack.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tensor/half.h"
#include "tensor/levels.h"

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
                static_cast<size_t>(layout.element_bytes) / static_cast<size_t>(layout.weights_per_element);
  return shape;
}

PackedShape grouped_shape(const PanelLayout& layout, int columns, int k, int group, bool has_zeros) {
  PackedShape shape = packed_shape(layout, columns, k);
  shape.group = group;
  shape.groups = (k + group - 1) / group;
  shape.has_zeros = has_zeros;
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

ColumnScale pack_codes_i8(const PanelLayout& layout, const PackedShape& shape, int column, ColumnCodes row, void* panels) {
  int64_t total = 0;
  pack_column<int8_t>(layout, shape, column, panels, [&](int k) {
    total += row.codes[k];
    return row.codes[k];
  });
  return {row.scale, row.scale * static_cast<float>(total)};
}

float pack_column_i4(const PanelLayout& layout, const PackedShape& shape, int column, const ColumnGroups& row,
                     const GroupPanels& out) {
  const int panel = column / layout.panel_columns;
  const int half = layout.k_step / 2;
  uint8_t* bytes = static_cast<uint8_t*>(out.panels) + static_cast<int64_t>(panel) * shape.padded_k / 2 * layout.panel_columns +
                   static_cast<int64_t>(column % layout.panel_columns) * half;
  const int64_t first_group = static_cast<int64_t>(panel) * shape.groups * layout.panel_columns + column % layout.panel_columns;
  double sum = 0;
  for (int g = 0; g < shape.groups; ++g) {
    const int64_t at = first_group + static_cast<int64_t>(g) * layout.panel_columns;
    const int zero = shape.has_zeros ? row.zeros[g] : 8;
    out.scales[at] = row.scales[g];
    if (shape.has_zeros) out.zeros[at] = row.zeros[g];
    int64_t total = 0;
    for (int k = g * shape.group; k < std::min((g + 1) * shape.group, shape.padded_k); ++k) {
      const int code = k < shape.k ? row.codes[k] : zero;  // So that padding weighs nothing.
      total += code - zero;
      const int stored = shape.has_zeros ? code : code ^ 8;
      uint8_t& byte = bytes[static_cast<int64_t>(k / layout.k_step) * layout.panel_columns * half + k % half];
      byte = static_cast<uint8_t>(byte | stored << (k % layout.k_step < half ? 0 : 4));
    }
    sum += static_cast<double>(fp16_to_float(row.scales[g])) * static_cast<double>(total);
  }
  return static_cast<float>(sum);
}

float pack_column_l4(const PanelLayout& layout, const PackedShape& shape, int column, const ColumnLevels& row, void* panels,
                     int8_t* factors) {
  const int panel = column / layout.panel_columns;
  const int in_panel = column % layout.panel_columns;
  const int half = layout.k_step / 2;
  uint8_t* bytes = static_cast<uint8_t*>(panels) + static_cast<int64_t>(panel) * shape.padded_k / 2 * layout.panel_columns +
                   static_cast<int64_t>(in_panel) * half;
  int8_t* const first = factors + static_cast<int64_t>(panel) * shape.groups * layout.panel_columns + in_panel;
  for (int g = 0; g < shape.groups; ++g) first[static_cast<int64_t>(g) * layout.panel_columns] = row.factors[g];
  int64_t total = 0;
  for (int k = 0; k < shape.padded_k; ++k) {
    const int code = k < shape.k ? row.codes[k] : kZeroLevel;
    total += level_weight(code, row.factors[k / shape.group]);
    uint8_t& byte = bytes[static_cast<int64_t>(k / layout.k_step) * layout.panel_columns * half + k % half];
    byte = static_cast<uint8_t>(byte | code << (k % layout.k_step < half ? 0 : 4));
  }
  return row.scale * static_cast<float>(total);
}

}  // namespace inlay
