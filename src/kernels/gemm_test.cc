// Matrix products of every table against a double-precision loop.
#include "kernels/gemm_testing.h"

namespace inlay {
namespace {

class Gemm : public TableTest {};
EACH_TABLE(Gemm);

struct Extras {
  Activation activation = Activation::kIdentity;
  bool residual = false;
  bool bf16_output = false;
};

void check_product(const Kernels& table, const GemmProblem& p, const Extras& extras) {
  if (!table.has(p.shape.format)) return;
  PackedGemm packed(table, p);
  packed.args.activation = extras.activation;
  if (extras.residual) packed.use_residual();
  if (extras.bf16_output) packed.use_bf16_output();
  packed.run();
  Comparison comparison;
  for (int row = 0; row < p.shape.rows; ++row) {
    for (int column = 0; column < p.shape.columns; ++column) {
      const ExactSum sum = exact_sum(p, row, column);
      double wanted = exact_activation(extras.activation, sum.value);
      double allowed = 1.2 * Tolerance::kSum * sum.magnitude;
      allowed += activation_allowance(p.shape.format, extras.activation, sum.value);
      if (extras.residual) wanted += p.residual[static_cast<size_t>(row) * p.shape.columns + column];
      allowed += (extras.bf16_output ? Tolerance::kBf16 : Tolerance::kSum) * std::abs(wanted);
      comparison.add(row, column, packed.result(row, column), wanted, allowed);
    }
  }
  EXPECT_TRUE(comparison.within()) << describe(p.shape);
}

TEST_P(Gemm, EqualsADoubleLoopOnOddSizes) {
  constexpr int kPairs[][2] = {{1, 1},  {1, 1000}, {3, 7},   {7, 3},    {16, 16},  {31, 44},  {44, 31},
                               {47, 2}, {48, 384}, {49, 65}, {97, 100}, {384, 44}, {144, 129}};
  Random random(4);
  SCOPED_TRACE(random.seed_text());
  for (const Format format : kAllFormats) {
    for (const auto& [columns, k] : kPairs) {
      for (const int rows : {1, 5, 31}) check_product(table(), make_problem({format, rows, columns, k}, random), {});
    }
  }
}

TEST_P(Gemm, EqualsADoubleLoopForEveryNumberOfRows) {
  Random random(5);
  SCOPED_TRACE(random.seed_text());
  for (const Format format : kAllFormats) {
    for (int rows = 1; rows <= 17; ++rows) check_product(table(), make_problem({format, rows, 50, 67}, random), {});
    check_product(table(), make_problem({format, 64, 50, 67}, random), {});
  }
}

// Long rows are summed in parts, for some panels at a time; the residual may be what is written.
TEST_P(Gemm, EqualsADoubleLoopOnLongRows) {
  Random random(10);
  SCOPED_TRACE(random.seed_text());
  for (const Format format : kAllFormats) {
    for (const int k : {1025, 2050}) {
      const GemmProblem p = make_problem({format, 19, 450, k}, random);
      check_product(table(), p, {Activation::kRelu, true, false});
      check_product(table(), p, {Activation::kIdentity, false, true});
    }
  }
}

TEST_P(Gemm, AppliesActivationResidualAndOutputType) {
  Random random(6);
  SCOPED_TRACE(random.seed_text());
  for (const Format format : kAllFormats) {
    const GemmProblem p = make_problem({format, 13, 61, 30}, random);
    for (const Activation activation : kActivations) {
      SCOPED_TRACE(static_cast<int>(activation));
      for (const bool residual : {false, true}) {
        for (const bool bf16_output : {false, true}) check_product(table(), p, {activation, residual, bf16_output});
      }
    }
  }
}

TEST_P(Gemm, KeepsAnErrorAnError) {
  Random random(7);
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    GemmProblem p = make_problem({format, 9, 20, 12}, random);
    if (format == Format::kI8) {
      p.a_scale[4] = NAN;
    } else {
      p.a[4 * 12 + 7] = NAN;
    }
    for (const Activation activation : kActivations) {
      PackedGemm packed(table(), p);
      packed.args.activation = activation;
      packed.run();
      for (int row = 0; row < 9; ++row) {
        for (int column = 0; column < 20; ++column) {
          EXPECT_EQ(std::isnan(packed.result(row, column)), row == 4)
              << format_name(format) << ", activation " << static_cast<int>(activation) << ", row " << row;
        }
      }
    }
  }
}

// A panel sub-range writes its own columns and no others.
TEST_P(Gemm, WritesThePanelsAskedForOnly) {
  Random random(8);
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    const GemmProblem p = make_problem({format, 11, 150, 24}, random);
    PackedGemm packed(table(), p);
    ASSERT_GE(packed.shape().panels, 4);
    packed.args.panel_begin = 1;
    packed.args.panel_end = 3;
    packed.run();
    const int width = packed.layout().panel_columns;
    for (int row = 0; row < 11; ++row) {
      for (int column = 0; column < packed.shape().padded_columns; ++column) {
        const bool inside = column >= width && column < 3 * width;
        ASSERT_EQ(packed.result(row, column) == PackedGemm::kUntouched, !inside) << row << " " << column;
      }
    }
  }
}

TEST_P(Gemm, NoRowsAndNoPanelsWriteNothing) {
  Random random(9);
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    const GemmProblem p = make_problem({format, 3, 20, 8}, random);
    PackedGemm packed(table(), p);
    packed.args.rows = 0;
    packed.run();
    packed.args.rows = 3;
    packed.args.panel_end = 0;
    packed.run();
    EXPECT_EQ(packed.result(0, 0), PackedGemm::kUntouched);
  }
}

}  // namespace
}  // namespace inlay
