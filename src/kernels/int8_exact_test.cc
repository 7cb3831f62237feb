// Integer products are exact on every instruction set: no pair of products may saturate.
#include "kernels/gemm_testing.h"

namespace inlay {
namespace {

class Int8Exact : public TableTest {
 protected:
  // So that a result is the sum of the codes as they are stored.
  static void use_unit_scales(PackedGemm& packed, const std::vector<float>& ones, const std::vector<float>& zeros) {
    packed.args.b_scale = ones.data();
    packed.args.b_sum = zeros.data();
    packed.args.a_min = zeros.data();
  }
  // Activations of one code times weights of one code, k of them, through the whole kernel. `code` is in 0..255, and stands
  // for the code as far above the table's first.
  void expect_exact(int code, int weight, int k) {
    if (!table().has(Format::kI8)) GTEST_SKIP();
    GemmProblem p;
    p.shape = {Format::kI8, 9, 20, k};
    p.a.assign(static_cast<size_t>(9) * k, static_cast<float>(code));
    p.b.assign(static_cast<size_t>(20) * k, 0.0F);
    p.bias.assign(20, 0.0F);
    p.b_scale.assign(20, 1.0F);
    p.a_scale.assign(9, 1.0F);
    p.a_min.assign(9, 0.0F);
    PackedGemm packed(table(), p);
    // pack_column_i8 never writes -128, so the panels are filled directly: zeros in the padding of k.
    const std::vector<float> ones(packed.shape().padded_columns, 1.0F);
    const std::vector<float> zeros(packed.shape().padded_columns, 0.0F);
    use_unit_scales(packed, ones, zeros);
    fill_panels(packed, weight, k);
    packed.run();
    const int64_t sum = static_cast<int64_t>(code + packed.layout().first_code) * weight * k;
    for (int row = 0; row < 9; ++row) {
      for (int column = 0; column < 20; ++column) {
        ASSERT_EQ(packed.result(row, column), static_cast<float>(sum)) << code << " x " << weight << " x " << k;
      }
    }
  }

 private:
  static void fill_panels(PackedGemm& packed, int weight, int k) {
    const PanelLayout& layout = packed.layout();
    for (size_t i = 0; i < packed.panels().size(); ++i) {
      const size_t within_panel = i % (static_cast<size_t>(packed.shape().panel_k) * layout.panel_columns);
      const size_t group = within_panel / (static_cast<size_t>(layout.panel_columns) * layout.k_step);
      const size_t at_k = group * layout.k_step + within_panel % layout.k_step;
      packed.panels()[i] = static_cast<char>(at_k < static_cast<size_t>(k) ? weight : 0);
    }
  }
};
EACH_TABLE(Int8Exact);

TEST_P(Int8Exact, CaseH14ExtremeCodesDoNotSaturate) {
  for (const int k : {2, 64, 384, 1536}) {
    for (const int weight : {127, -127, -128}) {
      expect_exact(255, weight, k);
      expect_exact(128, weight, k);
      expect_exact(1, weight, k);
    }
  }
}

TEST_P(Int8Exact, OddKDoesNotSaturateEither) {
  for (const int k : {1, 3, 5, 31, 1023}) expect_exact(255, -128, k);
}

TEST_P(Int8Exact, RandomSumsAreExactIntegers) {
  if (!table().has(Format::kI8)) GTEST_SKIP();
  Random random(14);
  SCOPED_TRACE(random.seed_text());
  for (const int k : {1, 7, 31, 44, 384, 1000, 4096}) {
    GemmProblem p = make_problem({Format::kI8, 7, 33, k}, random);
    p.a_scale.assign(7, 1.0F);
    p.a_min.assign(7, 0.0F);
    p.b_scale.assign(33, 1.0F);
    p.bias.assign(33, 0.0F);
    PackedGemm packed(table(), p);
    const std::vector<float> ones(packed.shape().padded_columns, 1.0F);
    const std::vector<float> zeros(packed.shape().padded_columns, 0.0F);
    use_unit_scales(packed, ones, zeros);
    packed.run();
    for (int row = 0; row < 7; ++row) {
      for (int column = 0; column < 33; ++column) {
        int64_t sum = 0;
        for (int i = 0; i < k; ++i) {
          sum += (static_cast<int64_t>(p.a[static_cast<size_t>(row) * k + i]) + packed.layout().first_code) *
                 static_cast<int64_t>(p.b[static_cast<size_t>(column) * k + i]);
        }
        ASSERT_EQ(packed.result(row, column), static_cast<float>(sum)) << "k " << k << " row " << row << " column " << column;
      }
    }
  }
}

}  // namespace
}  // namespace inlay
