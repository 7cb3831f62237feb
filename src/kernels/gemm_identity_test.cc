// The bits of a result depend on its row and column alone: the promise that makes vectors the same in any batch.
#include "kernels/gemm_testing.h"

namespace inlay {
namespace {

class GemmIdentity : public TableTest {
 protected:
  // Every result of [row_begin, row_end) has the bits of `whole`.
  static void expect_same(const PackedGemm& part, const std::vector<float>& whole, int row_begin, int row_end) {
    const int columns = part.shape().padded_columns;
    for (int row = row_begin; row < row_end; ++row) {
      for (int column = 0; column < columns; ++column) {
        const float found = part.result(row, column);
        const float wanted = whole[static_cast<size_t>(row) * columns + column];
        ASSERT_EQ(std::memcmp(&found, &wanted, sizeof(found)), 0)
            << "row " << row << ", column " << column << ": " << found << " and " << wanted;
      }
    }
  }
  static std::vector<float> results(const PackedGemm& packed, int rows) {
    std::vector<float> values;
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < packed.shape().padded_columns; ++column) values.push_back(packed.result(row, column));
    }
    return values;
  }
  // Calls body(problem, prepare) for each format the table has, with and without an epilogue.
  template <class Body>
  void each_case(const Body& body) {
    constexpr int kRows = 37;
    Random random(11);
    SCOPED_TRACE(random.seed_text());
    for (const Format format : kAllFormats) {
      if (!table().has(format)) continue;
      const GemmProblem p = make_problem({format, kRows, 130, 77}, random);
      for (const bool extras : {false, true}) {
        PackedGemm packed(table(), p);
        if (extras) {
          packed.use_residual();
          packed.use_bf16_output();
          packed.args.activation = Activation::kGelu;
        }
        packed.run();
        const std::vector<float> whole = results(packed, kRows);
        SCOPED_TRACE(describe(p.shape));
        body(packed, whole, kRows);
        if (HasFatalFailure()) return;
      }
    }
  }
};
EACH_TABLE(GemmIdentity);

TEST_P(GemmIdentity, OfRowsInAnyCall) {
  each_case([](PackedGemm& packed, const std::vector<float>& whole, int rows) {
    for (int count = 1; count <= 17; ++count) {
      for (int begin = 0; begin + count <= rows; begin += 1 + count / 3) {
        packed.clear();
        packed.narrow_rows(begin, count);
        packed.run();
        ASSERT_NO_FATAL_FAILURE(expect_same(packed, whole, begin, begin + count)) << begin << " + " << count;
      }
    }
  });
}

// Many rows take long rows in parts, few rows do not.
TEST_P(GemmIdentity, OfLongRowsInAnyCall) {
  constexpr int kRows = 40;
  Random random(13);
  SCOPED_TRACE(random.seed_text());
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    const GemmProblem p = make_problem({format, kRows, 450, 1100}, random);
    PackedGemm packed(table(), p);
    packed.run();
    const std::vector<float> whole = results(packed, kRows);
    for (const int count : {1, 16, 17, 33}) {
      packed.clear();
      packed.narrow_rows(kRows - count, count);
      packed.run();
      ASSERT_NO_FATAL_FAILURE(expect_same(packed, whole, kRows - count, kRows)) << format_name(format) << ", " << count;
    }
  }
}

TEST_P(GemmIdentity, OfPanelsInAnySplit) {
  each_case([](PackedGemm& packed, const std::vector<float>& whole, int rows) {
    const int panels = packed.shape().panels;
    for (int split = 1; split < panels; ++split) {
      packed.clear();
      packed.args.panel_begin = 0;
      packed.args.panel_end = split;
      packed.run();
      packed.args.panel_begin = split;
      packed.args.panel_end = panels;
      packed.run();
      ASSERT_NO_FATAL_FAILURE(expect_same(packed, whole, 0, rows)) << "split at panel " << split;
    }
  });
}

// The same row at other addresses, of other alignment, among other rows.
TEST_P(GemmIdentity, OfEqualRows) {
  Random random(12);
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    GemmProblem p = make_problem({format, 29, 50, 45}, random);
    for (const int row : {3, 8, 17, 28}) {
      std::copy_n(p.a.begin(), p.shape.k, p.a.begin() + row * p.shape.k);
      if (format != Format::kI8) continue;
      p.a_scale[row] = p.a_scale[0];
      p.a_min[row] = p.a_min[0];
    }
    PackedGemm packed(table(), p);
    packed.run();
    for (const int row : {3, 8, 17, 28}) {
      for (int column = 0; column < p.shape.columns; ++column) {
        ASSERT_EQ(packed.result(row, column), packed.result(0, column)) << format_name(format) << " row " << row;
      }
    }
  }
}

}  // namespace
}  // namespace inlay
