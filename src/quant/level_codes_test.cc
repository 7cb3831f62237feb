// Rounding to levels of four bits.
#include "quant/level_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "quant/group_codes.h"

namespace inlay {
namespace {

std::vector<float> normals(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

double squared_error(std::span<const float> weights, float scale, int factor) {
  double sum = 0;
  for (const float weight : weights) {
    double best = INFINITY;
    for (int code = 0; code < 16; ++code)
      best = std::min(best, std::abs(static_cast<double>(weight / scale) - level_weight(code, factor)));
    sum += best * best;
  }
  return sum;
}

TEST(LevelCodes, AreTheNearestLevelsUnderTheBestFactor) {
  for (const int k : {1, 7, 31, 32, 33, 100, 384}) {
    for (const int group : {8, 32, 128}) {
      const std::vector<float> weights = normals(static_cast<size_t>(k), 21);
      LevelRow row;
      ASSERT_TRUE(round_to_levels(weights, group, row).has_value());
      ASSERT_EQ(row.factors.size(), static_cast<size_t>(group_count(k, group)));
      std::vector<float> back(weights.size());
      weights_of(row, group, back);
      for (int begin = 0, g = 0; begin < k; begin += group, ++g) {
        const std::span<const float> members = std::span(weights).subspan(begin, std::min(group, k - begin));
        double ours = 0;
        for (size_t i = 0; i < members.size(); ++i) ours += std::pow((back[begin + i] - members[i]) / row.scale, 2);
        for (int factor = kLowestFactor; factor <= kHighestFactor; ++factor)
          EXPECT_LE(ours, 1.0001 * squared_error(members, row.scale, factor) + 1e-6) << k << " " << group << " " << factor;
      }
    }
  }
}

TEST(LevelCodes, AreTheBytesOfAColumnWithOneScale) {
  const std::vector<float> weights = normals(100, 22);
  LevelRow row;
  ASSERT_TRUE(round_to_levels(weights, 32, row).has_value());
  std::vector<float> floats(100);
  std::vector<int8_t> bytes(100);
  weights_of(row, 32, floats);
  bytes_of(row, 32, bytes);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(floats[i], row.scale * static_cast<float>(bytes[i]));
}

TEST(LevelCodes, TheExtremeWeightOfAColumnIsExact) {
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> weights = normals(64, 23);
    for (float& weight : weights) weight = std::clamp(weight, -2.0F, 2.0F);
    // Alone in its group, so that no other weight pulls at the factor.
    std::fill(weights.begin() + 32, weights.end(), 0.0F);
    weights[40] = sign * 2.54F;
    LevelRow row;
    ASSERT_TRUE(round_to_levels(weights, 32, row).has_value());
    EXPECT_EQ(row.scale, sign * 2.54F / 127);
    std::vector<float> back(64);
    weights_of(row, 32, back);
    EXPECT_EQ(back[40], row.scale * 127);
    EXPECT_EQ(back[41], 0.0F);
  }
}

TEST(LevelCodes, WeightsOfZeroAreZero) {
  for (const float tiny : {0.0F, -0.0F}) {
    const std::vector<float> weights(40, tiny);
    LevelRow row;
    ASSERT_TRUE(round_to_levels(weights, 32, row).has_value());
    std::vector<float> back(40);
    weights_of(row, 32, back);
    for (const float weight : back) EXPECT_EQ(weight, 0.0F);
  }
}

// Down to where a scale is no longer a number of full precision.
TEST(LevelCodes, TinyAndHugeWeightsKeepTheirRatios) {
  for (const float size : {1e-36F, 1e-9F, 1e9F, 1e36F}) {
    const std::vector<float> weights = {size, -size, size / 2, 0.0F, size, -size, size / 2, 0.0F};
    LevelRow row;
    ASSERT_TRUE(round_to_levels(weights, 8, row).has_value());
    std::vector<float> back(8);
    weights_of(row, 8, back);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(back[i] / size, weights[i] / size, 0.12);
  }
}

TEST(LevelCodes, WeightsWithoutACodeAreAnError) {
  LevelRow row;
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> weights(32, 0.5F);
    weights[17] = bad;
    const Result<> done = round_to_levels(weights, 32, row);
    ASSERT_FALSE(done.has_value()) << bad;
    EXPECT_EQ(done.error().code, ErrorCode::kUnsupported);
  }
}

}  // namespace
}  // namespace inlay
