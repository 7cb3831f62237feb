// Which tables there are, and that INLAY_ISA is obeyed.
#include <gmock/gmock.h>

#include <cstdlib>

#include "base/cpu.h"
#include "kernels/kernels_testing.h"

namespace inlay {

#if defined(__x86_64__)
void fill_avx_vnni_evex(Kernels& table);

// The AVX-VNNI table on a CPU that has its instructions in the encoding of AVX-512.
const Kernels* avx_vnni_by_evex() {
  static const Kernels table = [] {
    Kernels result;
    for (const Kernels* other : available_kernels()) {
      if (std::string(other->name) == "avx2") result = *other;
    }
    result.name = "avx_vnni_by_evex";
    result.needs = kCpuAvx512 | kCpuAvx512Vnni;
    fill_avx_vnni_evex(result);
    return result;
  }();
  return (table.needs & cpu_features()) == table.needs ? &table : nullptr;
}
#else
const Kernels* avx_vnni_by_evex() { return nullptr; }
#endif

std::vector<const Kernels*> tables_under_test() {
  const KernelTables tables = available_kernels();
  std::vector<const Kernels*> all(tables.begin(), tables.end());
  if (const Kernels* extra = avx_vnni_by_evex()) all.push_back(extra);
  return all;
}

namespace {

class Tables : public TableTest {};
EACH_TABLE(Tables);

TEST_P(Tables, HasEveryKernelThatAModelNeeds) {
  const Kernels& t = table();
  for (const Format format :
       {Format::kF32, Format::kI8, Format::kHalfWeights, Format::kBF16Weights, Format::kI4, Format::kL4}) {
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
  EXPECT_EQ(t.attention_codes != nullptr, t.attention_codes_bytes != nullptr);
  EXPECT_NE(t.layer_norm, nullptr);
  EXPECT_NE(t.rms_norm, nullptr);
  EXPECT_NE(t.rotate, nullptr);
  EXPECT_NE(t.gate, nullptr);
  EXPECT_NE(t.to_bf16, nullptr);
  EXPECT_NE(t.to_codes, nullptr);
  EXPECT_NE(t.to_codes_i4, nullptr);
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

// A death test forks, and nothing calls kernels() in the parent, so that each child chooses its table anew.
TEST_P(Tables, IsaVariableIsObeyed) {
  if (&table() == avx_vnni_by_evex()) GTEST_SKIP() << "no table of the library";
  const std::string name = table().name;
  const auto report_choice = [&name] {
    ::setenv("INLAY_ISA", name.c_str(), 1);
    std::fprintf(stderr, "chosen: %s.\n", kernels().name);
    std::exit(7);
  };
  EXPECT_EXIT(report_choice(), ::testing::ExitedWithCode(7), "chosen: " + name + "\\.");
}

TEST(TablesDeathTest, UnknownIsaEndsTheProgramWithTheNamesThereAre) {
  const auto choose_nonsense = [] {
    ::setenv("INLAY_ISA", "avx9000", 1);
    kernels();
  };
  EXPECT_EXIT(choose_nonsense(), ::testing::ExitedWithCode(2), "INLAY_ISA is 'avx9000'.*scalar");
}

// oneDNN is for the tiles of AMX; without them our own tables are at least as good.
TEST(TablesDeathTest, WithoutIsaTheLastTableThatSuitsIsChosen) {
  const auto report_choice = [] {
    ::unsetenv("INLAY_ISA");
    std::fprintf(stderr, "chosen: %s.\n", kernels().name);
    std::exit(7);
  };
  const KernelTables tables = available_kernels();
  std::string best;
  for (const Kernels* table : tables) {
    if (std::string(table->name) != "onednn" || (cpu_features() & kCpuAmx) != 0) best = table->name;
  }
  EXPECT_EXIT(report_choice(), ::testing::ExitedWithCode(7), "chosen: " + best + "\\.");
}

TEST(TablesOfThisCpu, ScalarIsFirst) { EXPECT_STREQ((*available_kernels().begin())->name, "scalar"); }

}  // namespace
}  // namespace inlay
