#include "model/row_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/check.h"
#include "kernels/kernels_testing.h"

namespace inlay {
namespace {

constexpr unsigned kSeed = 20261202;

std::vector<float> random_floats(size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

class RowStepsOn : public testing::TestWithParam<const Kernels*> {};

// Products write whole panels: rows must be so far apart that the end of one does not lie in the next.
TEST_P(RowStepsOn, RowsOfAnyWidthKeepApart) {
  constexpr int kRows = 5;
  for (const int columns : {1, 7, 50, 64, 200, 1024}) {
    std::mt19937 random(kSeed);
    constexpr int kWidth = 13;
    const std::vector<float> weight = random_floats(static_cast<size_t>(columns) * kWidth, random);
    const std::vector<float> bias = random_floats(static_cast<size_t>(columns), random);
    const std::vector<float> input = random_floats(kRows * kWidth, random);
    Team team(1);
    const PackedLinear::RowSource row = [&](int column, std::span<float> out) -> Result<> {
      std::copy_n(weight.begin() + column * kWidth, kWidth, out.begin());
      return {};
    };
    Result<PackedLinear> dense = PackedLinear::pack(*GetParam(), Format::kF32, columns, kWidth, row, bias, team);
    ASSERT_TRUE(dense.has_value());
    RowSteps steps(*GetParam(), kWidth);
    steps.add_dense(*std::move(dense), Activation::kIdentity);
    steps.add_normalize();
    RowMemory memory;
    float* rows = steps.begin(kRows, memory);
    for (int r = 0; r < kRows; ++r) std::copy_n(input.begin() + r * kWidth, kWidth, rows + r * steps.stride());
    steps.run(kRows, memory);
    for (int r = 0; r < kRows; ++r) {
      std::vector<double> wanted(static_cast<size_t>(columns));
      double squares = 0;
      for (int c = 0; c < columns; ++c) {
        double sum = bias[c];
        for (int k = 0; k < kWidth; ++k) sum += double{weight[c * kWidth + k]} * input[r * kWidth + k];
        wanted[c] = sum;
        squares += sum * sum;
      }
      for (int c = 0; c < columns; ++c) {
        ASSERT_NEAR(steps.result(r, memory)[c], wanted[c] / std::sqrt(squares), 1e-5)
            << "seed " << kSeed << ", " << columns << " columns, row " << r << ", column " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTable, RowStepsOn, testing::ValuesIn(available_kernels().begin(), available_kernels().end()));

}  // namespace
}  // namespace inlay
