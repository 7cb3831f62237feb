// Products with 4-bit weights: every table against a double-precision loop, and against each other bit for bit.
#include <fmt/format.h>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {
namespace {

struct Shape {
  int rows = 0;
  int columns = 0;
  int k = 0;
  int group = 32;
  bool has_zeros = false;
};

// Logical operands: codes of activations in 0..255, codes of weights in 0..15, a scale and a zero for each group.
struct Problem {
  Problem(const Shape& of, Random& random) : shape(of), groups((of.k + of.group - 1) / of.group) {
    for (int i = 0; i < shape.rows * shape.k; ++i) a.push_back(static_cast<uint8_t>(random.in(0, 255)));
    for (int i = 0; i < shape.columns * shape.k; ++i) b.push_back(static_cast<uint8_t>(random.in(0, 15)));
    for (int i = 0; i < shape.columns * groups; ++i) {
      scales.push_back(float_to_fp16(0.02F * random.normal()));
      zeros.push_back(static_cast<uint8_t>(shape.has_zeros ? random.in(0, 15) : 8));
    }
    for (int i = 0; i < shape.rows; ++i) {
      a_scale.push_back(0.01F + 0.001F * static_cast<float>(random.in(0, 20)));
      a_min.push_back(-a_scale.back() * static_cast<float>(random.in(90, 150)));
    }
    bias = random.normals(shape.columns);
    residual = random.normals(static_cast<size_t>(shape.rows) * shape.columns);
  }
  double weight(int column, int k) const {
    const size_t group = static_cast<size_t>(column) * groups + k / shape.group;
    return static_cast<double>(fp16_to_float(scales[group])) * (b[static_cast<size_t>(column) * shape.k + k] - zeros[group]);
  }

  Shape shape;
  int groups;
  std::vector<uint8_t> a, b, zeros;
  std::vector<uint16_t> scales;
  std::vector<float> a_scale, a_min, bias, residual;
};

// The buffers as a table wants them. Padding of the activations holds a code that would show.
class Packed {
 public:
  Packed(const Kernels& table, const Problem& p) : table_(table), problem_(p), layout_(table.panel(Format::kI4)) {
    shape_ = grouped_shape(layout_, p.shape.columns, p.shape.k, p.shape.group, p.shape.has_zeros);
    const size_t scales = static_cast<size_t>(shape_.panels) * shape_.groups * layout_.panel_columns;
    panels_.assign(shape_.bytes, 0);
    scales_.assign(scales, 0);
    zeros_.assign(scales, 0);
    sums_.assign(shape_.padded_columns, 0.0F);
    for (int column = 0; column < p.shape.columns; ++column) {
      const size_t first = static_cast<size_t>(column) * p.groups;
      sums_[column] = pack_column_i4(layout_, shape_, column,
                                     {p.b.data() + static_cast<size_t>(column) * p.shape.k, &p.scales[first], &p.zeros[first]},
                                     {panels_.data(), scales_.data(), zeros_.data()});
    }
    pack_a();
    bias_ = p.bias;
    bias_.resize(shape_.padded_columns, 0.0F);
    residual_.assign(static_cast<size_t>(p.shape.rows) * shape_.padded_columns, 0.0F);
    for (int row = 0; row < p.shape.rows; ++row) {
      std::copy_n(p.residual.begin() + static_cast<ptrdiff_t>(row) * p.shape.columns, p.shape.columns,
                  residual_.begin() + static_cast<ptrdiff_t>(row) * shape_.padded_columns);
    }
    c_.assign(static_cast<size_t>(p.shape.rows) * shape_.padded_columns, 0.0F);
    fill_args();
  }

  GemmArgs args;

  void use_residual() {
    args.residual = residual_.data();
    args.residual_stride = shape_.padded_columns;
  }
  void use_bf16_output() {
    c_bf16_.assign(c_.size(), 0);
    args.c = c_bf16_.data();
    args.c_is_bf16 = true;
  }
  // Rows [begin, begin + count) of the problem into the same rows of the result.
  void narrow_rows(int begin, int count) {
    args.a = a_.data() + begin * args.a_stride;
    args.rows = count;
    args.c = c_.data() + begin * args.c_stride;
    args.a_scale = problem_.a_scale.data() + begin;
    args.a_min = a_min_.data() + begin;
  }
  void run() { table_.gemm[static_cast<int>(Format::kI4)](args); }
  float result(int row, int column) const {
    const size_t at = static_cast<size_t>(row) * shape_.padded_columns + column;
    return args.c_is_bf16 ? bf16_to_float(c_bf16_[at]) : c_[at];
  }
  std::vector<float> results() const { return c_; }
  void clear() { std::fill(c_.begin(), c_.end(), 0.0F); }
  const PackedShape& shape() const { return shape_; }

 private:
  void pack_a() {
    a_min_ = problem_.a_min;
    const int bytes = layout_.activation_bytes;
    args.a_stride = static_cast<int64_t>(shape_.padded_k) * bytes;
    a_.assign(static_cast<size_t>(problem_.shape.rows) * args.a_stride, 77);
    for (int row = 0; row < problem_.shape.rows; ++row) {
      for (int k = 0; k < problem_.shape.k; ++k) {
        const int code = problem_.a[static_cast<size_t>(row) * problem_.shape.k + k] + layout_.first_code;
        char* at = a_.data() + row * args.a_stride + static_cast<ptrdiff_t>(k) * bytes;
        at[0] = static_cast<char>(code);
        if (bytes == 2) at[1] = 0;
      }
      a_min_[row] -= static_cast<float>(layout_.first_code) * problem_.a_scale[row];
    }
  }
  void fill_args() {
    args.a = a_.data();
    args.b = panels_.data();
    args.rows = problem_.shape.rows;
    args.k = shape_.padded_k;
    args.panel_end = shape_.panels;
    args.bias = bias_.data();
    args.c = c_.data();
    args.c_stride = shape_.padded_columns;
    args.a_scale = problem_.a_scale.data();
    args.a_min = a_min_.data();
    args.b_sum = sums_.data();
    args.group = shape_.group;
    args.b_group_scale = scales_.data();
    args.b_zero = problem_.shape.has_zeros ? zeros_.data() : nullptr;
  }

  const Kernels& table_;
  const Problem& problem_;
  PanelLayout layout_;
  PackedShape shape_;
  std::vector<char> a_, panels_;
  std::vector<uint16_t> scales_, c_bf16_;
  std::vector<uint8_t> zeros_;
  std::vector<float> sums_, a_min_, bias_, residual_, c_;
};

std::string describe(const Shape& s) {
  return fmt::format("{} x {} x {}, groups of {}{}", s.rows, s.columns, s.k, s.group, s.has_zeros ? " with zeros" : "");
}

// The odd sizes that every table is tried on.
std::vector<Shape> shapes() {
  std::vector<Shape> all;
  constexpr int kSizes[][3] = {{1, 1, 1},    {5, 1, 1000}, {3, 7, 31},   {8, 16, 32},  {9, 31, 44},
                               {17, 49, 67}, {31, 97, 96}, {2, 50, 384}, {6, 144, 129}};
  for (const auto& [rows, columns, k] : kSizes) {
    for (const int group : {8, 32, 64, 128, 1024}) {
      for (const bool zeros : {false, true}) all.push_back({rows, columns, k, group, zeros});
    }
  }
  return all;
}

class GemmI4 : public TableTest {
 protected:
  void SetUp() override { ASSERT_TRUE(table().has(Format::kI4)); }
};
EACH_TABLE(GemmI4);

void check(const Kernels& table, const Problem& p, Activation activation, bool extras) {
  Packed packed(table, p);
  packed.args.activation = activation;
  if (extras) {
    packed.use_residual();
    packed.use_bf16_output();
  }
  packed.run();
  Comparison comparison;
  for (int row = 0; row < p.shape.rows; ++row) {
    for (int column = 0; column < p.shape.columns; ++column) {
      double value = p.bias[column];
      double magnitude = std::abs(value);
      for (int k = 0; k < p.shape.k; ++k) {
        const double low = p.a_min[row];
        const double step = static_cast<double>(p.a_scale[row]) * p.a[static_cast<size_t>(row) * p.shape.k + k];
        const double weight = p.weight(column, k);
        value += (step + low) * weight;
        magnitude += (step + std::abs(low)) * std::abs(weight);
      }
      double wanted = exact_activation(activation, value);
      double allowed = 1.2 * Tolerance::kSum * magnitude + activation_allowance(Format::kI8, activation, value);
      if (extras) wanted += p.residual[static_cast<size_t>(row) * p.shape.columns + column];
      allowed += (extras ? Tolerance::kBf16 : Tolerance::kSum) * std::abs(wanted);
      comparison.add(row, column, packed.result(row, column), wanted, allowed);
    }
  }
  EXPECT_TRUE(comparison.within()) << describe(p.shape);
}

TEST_P(GemmI4, EqualsADoubleLoopOnOddSizes) {
  Random random(71);
  SCOPED_TRACE(random.seed_text());
  for (const Shape& shape : shapes()) check(table(), Problem(shape, random), Activation::kIdentity, false);
}

TEST_P(GemmI4, AppliesActivationResidualAndOutputType) {
  Random random(72);
  SCOPED_TRACE(random.seed_text());
  for (const bool zeros : {false, true}) {
    const Problem p({13, 61, 40, 32, zeros}, random);
    for (const Activation activation : kActivations) check(table(), p, activation, true);
  }
}

// Shifted codes have another minimum, whose products round differently.
TEST_P(GemmI4, HasTheBitsOfTheScalarTable) {
  if (table().panel(Format::kI4).first_code != 0) GTEST_SKIP() << "its codes do not begin at 0";
  Random random(73);
  SCOPED_TRACE(random.seed_text());
  const Kernels& scalar = **available_kernels().begin();
  for (const Shape& shape : shapes()) {
    const Problem p(shape, random);
    Packed ours(table(), p);
    Packed truth(scalar, p);
    ours.run();
    truth.run();
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column < shape.columns; ++column) {
        ASSERT_EQ(ours.result(row, column), truth.result(row, column)) << describe(shape) << " at " << row << ", " << column;
      }
    }
  }
}

TEST_P(GemmI4, HasTheSameBitsForAnyRowsAndPanels) {
  Random random(74);
  SCOPED_TRACE(random.seed_text());
  for (const bool zeros : {false, true}) {
    const Problem p({31, 150, 77, 32, zeros}, random);
    Packed packed(table(), p);
    packed.run();
    const std::vector<float> whole = packed.results();
    for (int count = 1; count <= 17; ++count) {
      packed.clear();
      const int split = 1 + count % (packed.shape().panels - 1);
      for (int begin = 0; begin < 31; begin += count) {
        packed.narrow_rows(begin, std::min(count, 31 - begin));
        packed.args.panel_begin = split;
        packed.args.panel_end = packed.shape().panels;
        packed.run();
        packed.args.panel_begin = 0;
        packed.args.panel_end = split;
        packed.run();
      }
      ASSERT_EQ(packed.results(), whole) << count << " rows at a time, split at panel " << split;
    }
  }
}

// The largest sums: no pair of products may saturate, and scales of 1 show every digit.
TEST_P(GemmI4, CaseH14ExtremeCodesDoNotSaturate) {
  Random random(75);
  for (const int code : {0, 15}) {
    for (const bool zeros : {false, true}) {
      Problem p({9, 20, 1536, 1536, zeros}, random);
      p.a.assign(p.a.size(), 255);
      p.b.assign(p.b.size(), static_cast<uint8_t>(code));
      p.scales.assign(p.scales.size(), float_to_fp16(1.0F));
      if (zeros) p.zeros.assign(p.zeros.size(), static_cast<uint8_t>(15 - code));
      p.a_scale.assign(9, 1.0F);
      p.a_min.assign(9, 0.0F);
      p.bias.assign(20, 0.0F);
      Packed packed(table(), p);
      packed.run();
      const int weight = code - (zeros ? 15 - code : 8);
      for (int row = 0; row < 9; ++row) {
        for (int column = 0; column < 20; ++column) {
          ASSERT_EQ(packed.result(row, column), static_cast<float>(255 * 1536 * weight)) << code << " " << zeros;
        }
      }
    }
  }
}

TEST_P(GemmI4, KeepsAnErrorAnError) {
  Random random(76);
  Problem p({9, 20, 40, 32, false}, random);
  p.a_scale[4] = NAN;
  for (const Activation activation : kActivations) {
    Packed packed(table(), p);
    packed.args.activation = activation;
    packed.run();
    for (int row = 0; row < 9; ++row) {
      for (int column = 0; column < 20; ++column) EXPECT_EQ(std::isnan(packed.result(row, column)), row == 4);
    }
  }
}

TEST(PackI4, HalfABytePerWeight) {
  for (const Kernels* table : tables_under_test()) {
    const PanelLayout& layout = table->panel(Format::kI4);
    const PackedShape shape = grouped_shape(layout, layout.panel_columns * 2, 128, 32, false);
    EXPECT_EQ(shape.bytes, static_cast<size_t>(layout.panel_columns) * 2 * 128 / 2) << table->name;
    EXPECT_EQ(shape.groups, 4);
    EXPECT_EQ(kGroupStep % layout.k_step, 0) << "a group ends where a step does";
  }
}

}  // namespace
}  // namespace inlay
