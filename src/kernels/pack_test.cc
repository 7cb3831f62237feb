// Packed panels: where each weight lies, what stays zero, and what the int8 scale says.
#include <set>

#include "kernels/gemm_testing.h"

namespace inlay {
namespace {

// Where the contract of PanelLayout puts a weight, in elements.
size_t place(const PanelLayout& layout, const PackedShape& shape, int column, int k) {
  const size_t panel = column / layout.panel_columns;
  const size_t in_panel =
      (static_cast<size_t>(k / layout.k_step) * layout.panel_columns + column % layout.panel_columns) * layout.k_step +
      k % layout.k_step;
  return panel * shape.padded_k * layout.panel_columns + in_panel;
}

constexpr PanelLayout kLayouts[] = {{16, 1, 4, 4}, {48, 1, 4, 4}, {48, 2, 2, 2}, {48, 4, 1, 1}, {16, 2, 1, 2}, {8, 8, 1, 1}};

TEST(Pack, ShapesAreRoundedUp) {
  const PackedShape shape = packed_shape({48, 4, 1, 1}, 100, 30);
  EXPECT_EQ(shape.columns, 100);
  EXPECT_EQ(shape.k, 30);
  EXPECT_EQ(shape.padded_k, 32);
  EXPECT_EQ(shape.panels, 3);
  EXPECT_EQ(shape.padded_columns, 144);
  EXPECT_EQ(shape.bytes, 144U * 32U);
  EXPECT_EQ(packed_shape({16, 1, 4, 4}, 16, 1).bytes, 64U);
}

TEST(Pack, LargeMatricesDoNotOverflow) {
  EXPECT_EQ(packed_shape({48, 1, 4, 4}, 250002, 16384).bytes, size_t{250032} * 16384 * 4);
}

TEST(Pack, EveryWeightLiesInItsPlaceAndTheRestIsZero) {
  for (const PanelLayout& layout : kLayouts) {
    const PackedShape shape = packed_shape(layout, 53, 13);
    const size_t elements = static_cast<size_t>(shape.padded_columns) * shape.padded_k;
    std::vector<float> f32(elements, 0.0F);
    std::vector<uint16_t> bf16(elements, 0);
    std::vector<uint16_t> fp16(elements, 0);
    for (int column = 0; column < 53; ++column) {
      std::vector<float> row;
      for (int k = 0; k < 13; ++k) row.push_back(static_cast<float>(1 + column * 13 + k));
      pack_column_f32(layout, shape, column, row.data(), f32.data());
      pack_column_bf16(layout, shape, column, row.data(), bf16.data());
      pack_column_fp16(layout, shape, column, row.data(), fp16.data());
    }
    std::set<size_t> places;
    for (int column = 0; column < 53; ++column) {
      for (int k = 0; k < 13; ++k) {
        const float value = static_cast<float>(1 + column * 13 + k);
        const size_t at = place(layout, shape, column, k);
        EXPECT_EQ(f32[at], value);
        EXPECT_EQ(bf16[at], float_to_bf16(value));
        EXPECT_EQ(fp16[at], float_to_fp16(value));
        places.insert(at);
      }
    }
    EXPECT_EQ(places.size(), 53U * 13U);
    for (size_t at = 0; at < elements; ++at) {
      EXPECT_EQ(f32[at] == 0.0F, places.count(at) == 0);
    }
  }
}

TEST(Pack, Int8IsTheNearestCodeOfASymmetricScale) {
  Random random(61);
  SCOPED_TRACE(random.seed_text());
  for (const PanelLayout& layout : kLayouts) {
    const int k_count = 37;
    const PackedShape shape = packed_shape(layout, 20, k_count);
    std::vector<int8_t> panels(static_cast<size_t>(shape.padded_columns) * shape.padded_k, 0);
    for (int column = 0; column < 20; ++column) {
      const std::vector<float> row = random.normals(k_count);
      const ColumnScale scale = pack_column_i8(layout, shape, column, row.data(), panels.data());
      float highest = 0;
      for (const float weight : row) highest = std::max(highest, std::abs(weight));
      EXPECT_NEAR(scale.scale, highest / 127, 1e-6 * highest);
      double sum = 0;
      for (int k = 0; k < k_count; ++k) {
        const int code = panels[place(layout, shape, column, k)];
        EXPECT_GE(code, -127);
        EXPECT_NEAR(code * static_cast<double>(scale.scale), row[k], 0.501 * static_cast<double>(scale.scale));
        sum += code * static_cast<double>(scale.scale);
      }
      EXPECT_NEAR(scale.sum, sum, 1e-5 * highest);
    }
  }
}

TEST(Pack, Int8OfAColumnOfZerosIsZero) {
  const PanelLayout layout{16, 4, 1, 1};
  const PackedShape shape = packed_shape(layout, 1, 5);
  std::vector<int8_t> panels(shape.bytes, 0);
  const std::vector<float> row(5, 0.0F);
  const ColumnScale scale = pack_column_i8(layout, shape, 0, row.data(), panels.data());
  EXPECT_EQ(scale.scale, 0.0F);
  EXPECT_EQ(scale.sum, 0.0F);
  for (const int8_t code : panels) EXPECT_EQ(code, 0);
}

// The inverse of such a scale is not a float.
TEST(Pack, Int8OfTinyWeightsStaysWithinAStep) {
  const PanelLayout layout{16, 4, 1, 1};
  const PackedShape shape = packed_shape(layout, 1, 3);
  std::vector<int8_t> panels(shape.bytes, 0);
  const std::vector<float> row = {1e-41F, -1e-42F, 0.0F};
  const ColumnScale scale = pack_column_i8(layout, shape, 0, row.data(), panels.data());
  for (int k = 0; k < 3; ++k) {
    const int code = panels[place(layout, shape, 0, k)];
    EXPECT_NEAR(static_cast<double>(scale.scale) * code, row[k], 1.1e-41) << code;
    EXPECT_TRUE(std::isfinite(scale.sum));
  }
}

}  // namespace
}  // namespace inlay
