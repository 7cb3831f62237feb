// Layer norm and the conversions of rows, against double precision and the conversions of tensor/half.h.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int padded_to(int columns, int multiple) { return (columns + multiple - 1) / multiple * multiple; }

class LayerNorm : public TableTest {
 protected:
  void check(const std::vector<float>& x, int rows, int columns, bool in_place) {
    const int stride = padded_to(columns, table().vector_floats);
    Random random(31);
    std::vector<float> gamma = random.normals(columns);
    std::vector<float> beta = random.normals(columns);
    gamma.resize(stride, 0.0F);
    beta.resize(stride, 0.0F);
    // The padding of x may hold anything.
    std::vector<float> in(static_cast<size_t>(rows) * stride, NAN);
    for (int row = 0; row < rows; ++row) {
      std::copy_n(x.begin() + static_cast<ptrdiff_t>(row) * columns, columns,
                  in.begin() + static_cast<ptrdiff_t>(row) * stride);
    }
    std::vector<float> out = in_place ? in : std::vector<float>(in.size(), 9.0F);
    const float* source = in_place ? out.data() : in.data();
    table().layer_norm({source, out.data(), stride, gamma.data(), beta.data(), rows, columns, 1e-12F});
    Comparison comparison;
    for (int row = 0; row < rows; ++row) {
      const std::vector<double> wanted = exact(x.data() + static_cast<ptrdiff_t>(row) * columns, columns, gamma, beta);
      double largest = 1;
      for (const double value : wanted) largest = std::max(largest, std::abs(value));
      for (int c = 0; c < columns; ++c) {
        comparison.add(row, c, out[static_cast<size_t>(row) * stride + c], wanted[c], Tolerance::kNorm * largest);
      }
      for (int c = columns; c < stride; ++c) EXPECT_EQ(out[static_cast<size_t>(row) * stride + c], 0.0F) << "padding";
    }
    EXPECT_TRUE(comparison.within()) << columns << " columns, in place: " << in_place;
  }

 private:
  static std::vector<double> exact(const float* x, int columns, const std::vector<float>& gamma,
                                   const std::vector<float>& beta) {
    double mean = 0;
    double variance = 0;
    for (int c = 0; c < columns; ++c) mean += x[c];
    mean /= columns;
    for (int c = 0; c < columns; ++c) variance += (x[c] - mean) * (x[c] - mean);
    std::vector<double> y;
    for (int c = 0; c < columns; ++c) y.push_back((x[c] - mean) / std::sqrt(variance / columns + 1e-12) * gamma[c] + beta[c]);
    return y;
  }
};
EACH_TABLE(LayerNorm);

TEST_P(LayerNorm, EqualsDoublePrecisionOnOddColumns) {
  Random random(32);
  SCOPED_TRACE(random.seed_text());
  for (const int columns : {2, 3, 7, 15, 16, 17, 31, 33, 44, 100, 384, 1000}) {
    const std::vector<float> x = random.normals(static_cast<size_t>(5) * columns);
    check(x, 5, columns, false);
    check(x, 5, columns, true);
  }
}

// BERT models have channels hundreds of times larger than the others; E[x^2] - E[x]^2 loses digits there.
TEST_P(LayerNorm, KeepsItsPrecisionBesideOutliersAndFarFromZero) {
  Random random(33);
  for (const int columns : {31, 384, 768}) {
    std::vector<float> x = random.normals(static_cast<size_t>(3) * columns);
    x[5] = 900;
    x[columns + 7] = -4000;
    for (int c = 0; c < columns; ++c) x[2 * columns + c] = x[2 * columns + c] * 0.25F + 16;
    check(x, 2, columns, false);
    x.erase(x.begin(), x.begin() + 2 * columns);
    check(x, 1, columns, true);
  }
}

TEST_P(LayerNorm, AConstantRowIsFinite) {
  for (const float value : {0.0F, 16.1F, -1e4F, 1234567.9F}) {
    for (const int columns : {1, 17, 384}) {
      const int stride = padded_to(columns, table().vector_floats);
      std::vector<float> x(stride, value);
      const std::vector<float> ones(stride, 1.0F);
      table().layer_norm({x.data(), x.data(), stride, ones.data(), ones.data(), 1, columns, 1e-12F});
      for (int c = 0; c < columns; ++c) EXPECT_TRUE(std::isfinite(x[c])) << value << ", " << columns << " columns";
    }
  }
}

TEST_P(LayerNorm, ARowHasTheSameBitsAnywhere) {
  Random random(34);
  const int columns = 45;
  const int stride = padded_to(columns, table().vector_floats);
  std::vector<float> ones(stride, 0.0F);
  std::fill_n(ones.begin(), columns, 1.0F);
  std::vector<float> x = random.normals(static_cast<size_t>(6) * stride);
  std::copy_n(x.begin(), stride, x.begin() + 4 * stride);
  std::vector<float> y(x.size());
  table().layer_norm({x.data(), y.data(), stride, ones.data(), ones.data(), 6, columns, 1e-5F});
  EXPECT_EQ(std::memcmp(y.data(), y.data() + 4 * stride, columns * sizeof(float)), 0);
}

TEST_P(LayerNorm, ABadRowSpoilsItselfOnly) {
  Random random(35);
  const int stride = padded_to(40, table().vector_floats);
  for (const float bad : {static_cast<float>(NAN), kInfinity}) {
    std::vector<float> x = random.normals(static_cast<size_t>(3) * stride);
    const std::vector<float> ones(stride, 1.0F);
    x[stride + 39] = bad;
    table().layer_norm({x.data(), x.data(), stride, ones.data(), ones.data(), 3, 40, 1e-5F});
    for (int row = 0; row < 3; ++row) {
      for (int c = 0; c < 40; ++c) EXPECT_EQ(std::isfinite(x[row * stride + c]), row != 1);
    }
  }
}

class ToBf16 : public TableTest {};
EACH_TABLE(ToBf16);

TEST_P(ToBf16, RoundsAsTheBaseDoes) {
  const int columns = 1 << 12;
  std::vector<float> x(columns);
  std::vector<uint16_t> y(columns);
  for (uint32_t block = 0; block < 64; ++block) {
    for (int c = 0; c < columns; ++c) x[c] = std::bit_cast<float>((block * columns + c) * 16381U);
    table().to_bf16({x.data(), columns, y.data(), columns, nullptr, nullptr, 1, columns, columns});
    for (int c = 0; c < columns; ++c) ASSERT_EQ(y[c], float_to_bf16(x[c])) << x[c];
  }
}

TEST_P(ToBf16, ConvertsPaddedRowsOnly) {
  const int padded = padded_to(21, table().vector_floats);
  std::vector<float> x(static_cast<size_t>(3) * (padded + 5), 1.5F);
  std::vector<uint16_t> y(static_cast<size_t>(3) * (padded + 7), 7);
  table().to_bf16({x.data(), padded + 5, y.data(), padded + 7, nullptr, nullptr, 3, 21, padded});
  for (int row = 0; row < 3; ++row) {
    for (int c = 0; c < padded + 7; ++c) ASSERT_EQ(y[row * (padded + 7) + c], c < padded ? float_to_bf16(1.5F) : 7);
  }
}

class ToCodes : public TableTest {
 protected:
  struct Codes {
    float scale = 0;
    float minimum = 0;
    std::vector<int> code;  // of the columns
  };
  static int stored_code(const PanelLayout& layout, const char* codes, int at) {
    if (layout.activation_bytes == 2) return reinterpret_cast<const int16_t*>(codes)[at];
    if (layout.first_code < 0) return reinterpret_cast<const int8_t*>(codes)[at];
    return reinterpret_cast<const uint8_t*>(codes)[at];
  }
  // Converts one row among two others, and gives its codes.
  Codes codes_of(const std::vector<float>& row) const {
    const int columns = static_cast<int>(row.size());
    const PanelLayout& layout = table().panel(Format::kI8);
    const int padded = padded_to(padded_to(columns, table().vector_floats), layout.k_step);
    std::vector<float> x(static_cast<size_t>(3) * padded, 0.0F);
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < columns; ++c) x[r * padded + c] = r == 1 ? row[c] : static_cast<float>(c % 7);
    }
    std::vector<char> y(static_cast<size_t>(3) * padded * layout.activation_bytes, 'x');
    float scale[3];
    float minimum[3];
    table().to_codes({x.data(), padded, y.data(), padded, scale, minimum, 3, columns, padded});
    // As codes of 0..255 above the smallest value, whatever the first code of the table.
    const float first = static_cast<float>(layout.first_code);
    Codes result{scale[1], layout.first_code == 0 ? minimum[1] : minimum[1] + scale[1] * first, {}};
    for (int c = 0; c < padded; ++c) {
      const int code = stored_code(layout, y.data(), padded + c) - layout.first_code;
      EXPECT_GE(code, 0);
      EXPECT_LE(code, 255);
      if (c < columns) result.code.push_back(code);
    }
    return result;
  }
};
EACH_TABLE(ToCodes);

TEST_P(ToCodes, AreTheNearestStepsBetweenTheExtremes) {
  Random random(41);
  SCOPED_TRACE(random.seed_text());
  for (const int columns : {2, 3, 7, 16, 17, 31, 44, 384, 1000}) {
    for (const float factor : {1e-20F, 0.01F, 1.0F, 3000.0F, 1e30F}) {
      std::vector<float> x = random.normals(columns);
      for (float& value : x) value *= factor;
      const Codes codes = codes_of(x);
      const double low = *std::min_element(x.begin(), x.end());
      const double step = (*std::max_element(x.begin(), x.end()) - low) / 255;
      // A first code below zero costs a rounding.
      EXPECT_NEAR(codes.minimum, low, table().panel(Format::kI8).first_code == 0 ? 1e-300 : 1e-4 * step);
      EXPECT_NEAR(codes.scale, step, 1e-6 * step);
      Comparison comparison;
      for (int c = 0; c < columns; ++c) comparison.add(0, c, codes.code[c], (x[c] - low) / step, Tolerance::kCode);
      EXPECT_TRUE(comparison.within()) << columns << " columns, factor " << factor;
    }
  }
}

TEST_P(ToCodes, FarFromZeroTheErrorStaysAStep) {
  Random random(42);
  std::vector<float> x = random.normals(100);
  for (float& value : x) value = value * 0.01F + 1000;
  const Codes codes = codes_of(x);
  for (int c = 0; c < 100; ++c) {
    // Here the floats themselves are 6e-5 apart.
    EXPECT_NEAR(codes.scale * static_cast<float>(codes.code[c]) + codes.minimum, x[c], 0.6F * codes.scale + 7e-5F);
  }
}

TEST_P(ToCodes, AConstantRowIsItsMinimum) {
  for (const float value : {0.0F, -3.25F, 1e30F, 1e-40F}) {
    for (const int columns : {1, 5, 16, 33}) {
      const Codes codes = codes_of(std::vector<float>(columns, value));
      EXPECT_EQ(codes.scale, 0.0F);
      EXPECT_EQ(codes.minimum, value);
    }
  }
}

// The inverse of such a range is not a float.
TEST_P(ToCodes, ATinyRangeGivesItsMinimumBack) {
  std::vector<float> x(20, 0.0F);
  x[3] = 1e-42F;
  const Codes codes = codes_of(x);
  for (int c = 0; c < 20; ++c) EXPECT_NEAR(codes.scale * static_cast<float>(codes.code[c]) + codes.minimum, x[c], 2e-42F);
}

TEST_P(ToCodes, ARowThatIsNotFiniteStaysAnError) {
  Random random(43);
  for (const float bad : {static_cast<float>(NAN), kInfinity, -kInfinity}) {
    for (const int columns : {1, 5, 16, 33, 100}) {
      for (const int at : {0, columns / 2, columns - 1}) {
        std::vector<float> x = random.normals(columns);
        x[at] = bad;
        const Codes codes = codes_of(x);
        for (const int code : codes.code) EXPECT_FALSE(std::isfinite(codes.scale * static_cast<float>(code) + codes.minimum));
      }
    }
  }
}

}  // namespace
}  // namespace inlay
