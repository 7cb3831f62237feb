// Which tables there are, and that INLAY_ISA is obeyed.
#include <gmock/gmock.h>

#include <cstdlib>

#include "base/cpu.h"
#include "kernels/kernels_testing.h"

namespace inlay {

std::vector<const Kernels*> tables_under_test() {
  const KernelTables tables = available_kernels();
  return {tables.begin(), tables.end()};
}

namespace {

class Tables : public TableTest {};
EACH_TABLE(Tables);

TEST_P(Tables, HasEveryKernelThatAModelNeeds) {
  const Kernels& t = table();
  for (const Format format : {Format::kF32, Format::kI8, Format::kHalfWeights, Format::kBF16Weights}) {
    EXPECT_TRUE(t.has(format)) << static_cast<int>(format);
  }
  for (const Format format : kAllFormats) {
    if (!t.has(format)) continue;
    const PanelLayout& layout = t.panel(format);
    EXPECT_GT(layout.panel_columns, 0);
    EXPECT_EQ(layout.panel_columns % t.vector_floats, 0);
    EXPECT_GT(layout.k_step, 0);
    EXPECT_GT(layout.element_bytes, 0);
    EXPECT_GT(layout.activation_bytes, 0);
    EXPECT_NE(t.peak[static_cast<int>(format)], nullptr);
  }
  EXPECT_NE(t.attention_f32, nullptr);
  EXPECT_NE(t.attention_f32_bytes, nullptr);
  EXPECT_EQ(t.attention_bf16 != nullptr, t.has(Format::kBF16));
  EXPECT_EQ(t.attention_bf16_bytes != nullptr, t.has(Format::kBF16));
  EXPECT_NE(t.layer_norm, nullptr);
  EXPECT_NE(t.to_bf16, nullptr);
  EXPECT_NE(t.to_codes, nullptr);
  EXPECT_NE(t.activate, nullptr);
  EXPECT_EQ(t.needs & cpu_features(), t.needs);
}

TEST_P(Tables, PeakCountsItsOperations) {
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    const auto peak = table().peak[static_cast<int>(format)];
    EXPECT_GT(peak(10), 0);
    EXPECT_DOUBLE_EQ(peak(1000), 100 * peak(10));
  }
}

// A death test forks, so that each child chooses its table anew.
TEST_P(Tables, IsaVariableIsObeyed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string name = table().name;
  const auto report_choice = [&name] {
    ::setenv("INLAY_ISA", name.c_str(), 1);
    std::fprintf(stderr, "chosen: %s.\n", kernels().name);
    std::exit(7);
  };
  EXPECT_EXIT(report_choice(), ::testing::ExitedWithCode(7), "chosen: " + name + "\\.");
}

TEST(TablesDeathTest, UnknownIsaEndsTheProgramWithTheNamesThereAre) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto choose_nonsense = [] {
    ::setenv("INLAY_ISA", "avx9000", 1);
    kernels();
  };
  EXPECT_EXIT(choose_nonsense(), ::testing::ExitedWithCode(2), "INLAY_ISA is 'avx9000'.*scalar");
}

TEST(TablesDeathTest, WithoutIsaTheLastTableIsChosen) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto report_choice = [] {
    ::unsetenv("INLAY_ISA");
    std::fprintf(stderr, "chosen: %s.\n", kernels().name);
    std::exit(7);
  };
  const KernelTables tables = available_kernels();
  const std::string best = (*(tables.end() - 1))->name;
  EXPECT_EXIT(report_choice(), ::testing::ExitedWithCode(7), "chosen: " + best + "\\.");
}

TEST(TablesOfThisCpu, ScalarIsFirst) { EXPECT_STREQ((*available_kernels().begin())->name, "scalar"); }

}  // namespace
}  // namespace inlay
