// Rounding to groups of four bits.
#include "quant/group_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tensor/half.h"

namespace inlay {
namespace {

TEST(GroupCodes, AreTheNearestOfSixteenSteps) {
  std::mt19937 random(21);
  std::normal_distribution<float> normal;
  for (const int k : {1, 7, 31, 32, 33, 100, 384}) {
    for (const int group : {8, 32, 128}) {
      std::vector<float> weights(static_cast<size_t>(k));
      for (float& weight : weights) weight = normal(random);
      GroupedRow row;
      ASSERT_TRUE(round_to_groups(weights, group, row).has_value());
      ASSERT_EQ(row.scales.size(), static_cast<size_t>((k + group - 1) / group));
      EXPECT_TRUE(row.zeros.empty());
      std::vector<float> back(weights.size());
      weights_of(row, group, back);
      for (int i = 0; i < k; ++i) {
        const float scale = std::abs(fp16_to_float(row.scales[i / group]));
        ASSERT_LE(row.codes[i], 15);
        // The extreme is as exact as fp16; on the other side the range ends at seven steps, half a step and more from eight.
        EXPECT_NEAR(back[i], weights[i], 1.01F * scale) << k << " " << group << " " << i;
        if (std::abs(weights[i]) < 7 * scale) {
          EXPECT_NEAR(back[i], weights[i], 0.51F * scale);
        }
      }
    }
  }
}

TEST(GroupCodes, TheExtremeWeightHasAnEndCode) {
  const std::vector<float> weights = {0.5F, -2.0F, 1.0F, 0.0F, 3.0F, -4.0F, 1.5F, 2.0F};
  GroupedRow row;
  ASSERT_TRUE(round_to_groups(weights, 4, row).has_value());
  EXPECT_EQ(row.codes[1], 0);
  EXPECT_EQ(row.codes[5], 0);
  EXPECT_EQ(fp16_to_float(row.scales[0]), 0.25F);
  EXPECT_EQ(fp16_to_float(row.scales[1]), 0.5F);
}

TEST(GroupCodes, ZerosAndTinyWeightsAreZero) {
  for (const float tiny : {0.0F, 1e-40F, 1e-9F}) {
    const std::vector<float> weights(40, tiny);
    GroupedRow row;
    ASSERT_TRUE(round_to_groups(weights, 32, row).has_value());
    std::vector<float> back(40);
    weights_of(row, 32, back);
    for (const float weight : back) EXPECT_EQ(weight, 0.0F);
  }
}

TEST(GroupCodes, WeightsWithoutACodeAreAnError) {
  GroupedRow row;
  for (const float bad : {NAN, INFINITY, 1e9F}) {
    std::vector<float> weights(32, 0.5F);
    weights[17] = bad;
    const Result<> done = round_to_groups(weights, 32, row);
    ASSERT_FALSE(done.has_value()) << bad;
    EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace inlay
