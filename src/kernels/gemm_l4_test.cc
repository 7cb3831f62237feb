// Products with int8 weights that are kept as levels of 4 bits: every table against the plain sum of integers, which all of
// them have to hit exactly, and against each other bit for bit.
#include <fmt/format.h>

#include "kernels/kernels_testing.h"
#include "tensor/levels.h"

namespace inlay {
namespace {

struct LevelShape {
  int rows = 0;
  int columns = 0;
  int k = 0;
  int group = 32;
};

std::string describe_levels(const LevelShape& s) {
  return fmt::format("{} x {} x {}, groups of {}", s.rows, s.columns, s.k, s.group);
}

// Logical operands, and the buffers as a table wants them. Padding of the activations holds a code that would show.
class LevelProblem {
 public:
  LevelProblem(const Kernels& of, const LevelShape& shape, Random random)
      : table(of), s(shape), layout_(of.panel(Format::kL4)) {
    shape_ = grouped_shape(layout_, s.columns, s.k, s.group, false);
    for (int i = 0; i < s.rows * s.k; ++i) a.push_back(static_cast<uint8_t>(random.in(0, 255)));
    for (int i = 0; i < s.columns * s.k; ++i) codes.push_back(static_cast<uint8_t>(random.in(0, 15)));
    for (int i = 0; i < s.columns * shape_.groups; ++i) factors.push_back(static_cast<int8_t>(random.in(-8, 7)));
    for (int i = 0; i < s.rows; ++i) {
      a_scale.push_back(0.01F + 0.001F * static_cast<float>(random.in(0, 20)));
      a_min.push_back(-a_scale.back() * static_cast<float>(random.in(90, 150)));
    }
    for (int i = 0; i < s.columns; ++i) scale.push_back(0.001F * static_cast<float>(random.in(-20, 20)));
    bias = random.normals(static_cast<size_t>(shape_.padded_columns));
    residual = random.normals(static_cast<size_t>(s.rows) * shape_.padded_columns);
    c.assign(residual.size(), 0.0F);
  }

  // Packs what the vectors above hold.
  void pack() {
    panels_.assign(shape_.bytes, 0);
    packed_factors_.assign(static_cast<size_t>(shape_.padded_columns) * shape_.groups, 0);
    sums_.assign(static_cast<size_t>(shape_.padded_columns), 0.0F);
    packed_scale_ = scale;
    packed_scale_.resize(sums_.size());
    for (int column = 0; column < s.columns; ++column) {
      const ColumnLevels row = {&codes[static_cast<size_t>(column) * s.k],
                                &factors[static_cast<size_t>(column) * shape_.groups], scale[column]};
      sums_[column] = pack_column_l4(layout_, shape_, column, row, panels_.data(), packed_factors_.data());
    }
    const int bytes = layout_.activation_bytes;
    const int64_t stride = static_cast<int64_t>(shape_.padded_k) * bytes;
    packed_a_.assign(static_cast<size_t>(s.rows) * stride, 77);
    for (int row = 0; row < s.rows; ++row) {
      for (int k = 0; k < s.k; ++k) {
        char* const at = packed_a_.data() + row * stride + static_cast<ptrdiff_t>(k) * bytes;
        at[0] = static_cast<char>(a[static_cast<size_t>(row) * s.k + k] + layout_.first_code);
        if (bytes == 2) at[1] = 0;
      }
    }
    args.a_stride = stride;
    args.b = panels_.data();
    args.k = shape_.padded_k;
    args.bias = bias.data();
    args.c_stride = shape_.padded_columns;
    args.b_scale = packed_scale_.data();
    args.b_sum = sums_.data();
    args.group = s.group;
    args.b_factor = packed_factors_.data();
    args.panel_end = shape_.panels;
    low_ = a_min;
    for (int row = 0; row < s.rows; ++row) low_[row] -= static_cast<float>(layout_.first_code) * a_scale[row];
  }
  void use_residual() {
    args.residual = residual.data();
    args.residual_stride = shape_.padded_columns;
  }
  // Rows [begin, begin + count) into the same rows of the result.
  void run(int begin, int count) {
    args.rows = count;
    args.a = packed_a_.data() + begin * args.a_stride;
    args.c = c.data() + begin * args.c_stride;
    args.a_scale = a_scale.data() + begin;
    args.a_min = low_.data() + begin;
    table.gemm[static_cast<int>(Format::kL4)](args);
  }
  void run() { run(0, s.rows); }
  float result(int row, int column) const { return c[static_cast<size_t>(row) * shape_.padded_columns + column]; }
  int weight(int column, int k) const {
    const size_t group = static_cast<size_t>(column) * shape_.groups + k / s.group;
    return level_weight(codes[static_cast<size_t>(column) * s.k + k], factors[group]);
  }
  int panels() const { return shape_.panels; }

  const Kernels& table;
  LevelShape s;
  std::vector<uint8_t> a, codes;
  std::vector<int8_t> factors;
  std::vector<float> a_scale, a_min, scale, bias, residual, c;
  GemmArgs args;

 private:
  PanelLayout layout_;
  PackedShape shape_;
  std::vector<char> packed_a_, panels_;
  std::vector<int8_t> packed_factors_;
  std::vector<float> packed_scale_, sums_, low_;
};

std::vector<LevelShape> level_shapes() {
  std::vector<LevelShape> all;
  constexpr int kSizes[][3] = {{1, 1, 1},    {5, 1, 1000}, {3, 7, 31},    {8, 16, 32},  {9, 31, 44},    {17, 49, 67},
                               {31, 97, 96}, {2, 50, 384}, {6, 144, 129}, {65, 20, 40}, {130, 50, 1100}};
  for (const auto& [rows, columns, k] : kSizes) {
    for (const int group : {8, 32, 48, 128, 2048}) all.push_back({rows, columns, k, group});
  }
  return all;
}

class GemmL4 : public TableTest {
 protected:
  void SetUp() override { ASSERT_TRUE(table().has(Format::kL4)); }
};
EACH_TABLE(GemmL4);

void check(LevelProblem& p, Activation activation, bool extras) {
  p.pack();
  p.args.activation = activation;
  if (extras) p.use_residual();
  p.run();
  Comparison comparison;
  for (int row = 0; row < p.s.rows; ++row) {
    for (int column = 0; column < p.s.columns; ++column) {
      double value = p.bias[column];
      double magnitude = std::abs(value);
      for (int k = 0; k < p.s.k; ++k) {
        const double low = p.a_min[row];
        const double step = static_cast<double>(p.a_scale[row]) * p.a[static_cast<size_t>(row) * p.s.k + k];
        const double weight = static_cast<double>(p.scale[column]) * p.weight(column, k);
        value += (step + low) * weight;
        magnitude += (step + std::abs(low)) * std::abs(weight);
      }
      double wanted = exact_activation(activation, value);
      double allowed = 1.2 * Tolerance::kSum * magnitude + activation_allowance(Format::kI8, activation, value);
      if (extras) wanted += p.residual[static_cast<size_t>(row) * p.args.c_stride + column];
      allowed += Tolerance::kSum * std::abs(wanted);
      comparison.add(row, column, p.result(row, column), wanted, allowed);
    }
  }
  EXPECT_TRUE(comparison.within()) << describe_levels(p.s);
}

TEST_P(GemmL4, EqualsADoubleLoopOnOddSizes) {
  const Random random(81);
  SCOPED_TRACE(random.seed_text());
  for (const LevelShape& shape : level_shapes()) {
    LevelProblem p(table(), shape, random);
    check(p, Activation::kIdentity, false);
  }
}

TEST_P(GemmL4, AppliesActivationAndResidual) {
  const Random random(82);
  SCOPED_TRACE(random.seed_text());
  for (const Activation activation : kActivations) {
    LevelProblem p(table(), {13, 61, 40, 32}, random);
    check(p, activation, true);
  }
}

// One row, and scales of 1 and minima of 0, so that the result is the sum of integers itself: every level under every factor.
TEST_P(GemmL4, DecodesEveryLevelUnderEveryFactor) {
  const int first_code = table().panel(Format::kL4).first_code;
  if (first_code != 0) GTEST_SKIP() << "shifted codes have no minimum of 0";
  for (int k = 0; k < 16; ++k) {
    LevelProblem p(table(), {1, 256, 16, 8}, Random(83));
    p.a.assign(p.a.size(), 0);
    p.a[k] = 1;
    p.a_scale[0] = 1;
    p.a_min[0] = 0;
    p.scale.assign(p.scale.size(), 1.0F);
    p.bias.assign(p.bias.size(), 0.0F);
    for (int column = 0; column < 256; ++column) {
      for (int i = 0; i < 16; ++i) p.codes[static_cast<size_t>(column) * 16 + i] = static_cast<uint8_t>((column + i) % 16);
      p.factors[column * 2] = static_cast<int8_t>(column / 16 - 8);
      p.factors[column * 2 + 1] = static_cast<int8_t>(7 - column / 16);
    }
    p.pack();
    p.run();
    for (int column = 0; column < 256; ++column) {
      const int factor = k < 8 ? column / 16 - 8 : 7 - column / 16;
      const double exact = kLevels[(column + k) % 16] * factor / 8.0;
      ASSERT_EQ(p.result(0, column), std::floor(exact + 0.5)) << "column " << column << ", k " << k;
    }
  }
}

// Shifted codes have another minimum, whose products round differently.
TEST_P(GemmL4, HasTheBitsOfTheScalarTable) {
  if (table().panel(Format::kL4).first_code != 0) GTEST_SKIP() << "its codes do not begin at 0";
  const Random random(84);
  SCOPED_TRACE(random.seed_text());
  const Kernels& scalar = **available_kernels().begin();
  for (const LevelShape& shape : level_shapes()) {
    LevelProblem ours(table(), shape, random);
    LevelProblem truth(scalar, shape, random);
    truth.bias.resize(static_cast<size_t>(shape.columns));
    std::copy_n(ours.bias.begin(), shape.columns, truth.bias.begin());
    truth.bias.resize(truth.c.size() / static_cast<size_t>(shape.rows));
    ours.pack();
    truth.pack();
    ours.run();
    truth.run();
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column < shape.columns; ++column) {
        ASSERT_EQ(ours.result(row, column), truth.result(row, column))
            << describe_levels(shape) << " at " << row << ", " << column;
      }
    }
  }
}

TEST_P(GemmL4, HasTheSameBitsForAnyRowsAndPanels) {
  LevelProblem p(table(), {131, 150, 600, 32}, Random(85));
  p.pack();
  p.run();
  const std::vector<float> whole = p.c;
  for (const int count : {1, 2, 3, 5, 7, 8, 9, 16, 17, 63, 64, 65, 100}) {
    std::fill(p.c.begin(), p.c.end(), 0.0F);
    const int split = 1 + count % (p.panels() - 1);
    for (int begin = 0; begin < 131; begin += count) {
      p.args.panel_begin = split;
      p.args.panel_end = p.panels();
      p.run(begin, std::min(count, 131 - begin));
      p.args.panel_begin = 0;
      p.args.panel_end = split;
      p.run(begin, std::min(count, 131 - begin));
    }
    ASSERT_EQ(p.c, whole) << count << " rows at a time, split at panel " << split;
  }
}

// The largest sums: no pair of products may saturate.
TEST_P(GemmL4, CaseH14ExtremeCodesDoNotSaturate) {
  for (const int code : {0, 15}) {
    for (const int factor : {-8, 7}) {
      LevelProblem p(table(), {9, 20, 1536, 1536}, Random(86));
      p.a.assign(p.a.size(), 255);
      p.codes.assign(p.codes.size(), static_cast<uint8_t>(code));
      p.factors.assign(p.factors.size(), static_cast<int8_t>(factor));
      p.scale.assign(20, 1.0F);
      p.a_scale.assign(9, 1.0F);
      p.a_min.assign(9, 0.0F);
      p.bias.assign(p.bias.size(), 0.0F);
      p.pack();
      p.run();
      for (int row = 0; row < 9; ++row) {
        for (int column = 0; column < 20; ++column)
          ASSERT_EQ(p.result(row, column), static_cast<float>(255 * 1536 * level_weight(code, factor)))
              << code << " " << factor;
      }
    }
  }
}

TEST_P(GemmL4, KeepsAnErrorAnError) {
  for (const Activation activation : kActivations) {
    LevelProblem p(table(), {9, 20, 40, 32}, Random(87));
    p.a_scale[4] = NAN;
    p.pack();
    p.args.activation = activation;
    p.run();
    for (int row = 0; row < 9; ++row) {
      for (int column = 0; column < 20; ++column) EXPECT_EQ(std::isnan(p.result(row, column)), row == 4);
    }
  }
}

TEST(PackL4, HalfABytePerWeightInWhatInt8Reads) {
  for (const Kernels* table : tables_under_test()) {
    const PanelLayout& layout = table->panel(Format::kL4);
    const PackedShape shape = grouped_shape(layout, layout.panel_columns * 2, 128, 32, false);
    EXPECT_EQ(shape.bytes, static_cast<size_t>(layout.panel_columns) * 2 * 128 / 2) << table->name;
    EXPECT_EQ(kGroupStep % layout.k_step, 0) << "a group ends where a step does";
    EXPECT_EQ(layout.activation_bytes, table->panel(Format::kI8).activation_bytes);
    EXPECT_EQ(layout.first_code, table->panel(Format::kI8).first_code);
  }
}

}  // namespace
}  // namespace inlay
