// Buckets and slopes, against transformers 5.24 (T5Attention._relative_position_bucket, make_log_bucket_position).
#include "model/distance_bias.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/disentangled.h"

namespace inlay {
namespace {

const std::vector<int> kDistances = {-500, -129, -128, -127, -91, -64, -40, -16, -9, -8, -7, -1, 0,  1,  7,   8,   9,
                                     11,   12,   15,   16,   22,  23,  31,  32,  45, 46, 63, 64, 90, 91, 127, 128, 500};

TEST(DistanceBucket, EqualsT5AndMpnet) {
  const std::vector<int> wanted = {15, 15, 15, 15, 15, 14, 12, 10, 8,  8,  7,  1,  0,  17, 23, 24, 24,
                                   24, 25, 25, 26, 26, 27, 27, 28, 28, 29, 29, 30, 30, 31, 31, 31, 31};
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(distance_bucket(kDistances[i], 32, 128), wanted[i]) << kDistances[i];
}

TEST(LogBucket, EqualsDeberta) {
  const std::vector<int> wide = {-254, -129, -128, -127, -91, -64, -40, -16, -9, -8, -7, -1, 0,  1,  7,   8,   9,
                                 11,   12,   15,   16,   22,  23,  31,  32,  45, 46, 63, 64, 90, 91, 127, 128, 254};
  const std::vector<int> narrow = {-18, -15, -15, -15, -14, -13, -12, -10, -9, -8, -7, -1, 0,  1,  7,  8,  9,
                                   9,   9,   10,  10,  11,  11,  11,  12,  12, 12, 13, 13, 14, 14, 15, 15, 18};
  for (size_t i = 0; i < kDistances.size(); ++i) {
    EXPECT_EQ(log_bucket(kDistances[i], 256, 512), wide[i]) << kDistances[i];
    EXPECT_EQ(log_bucket(kDistances[i], 16, 200), narrow[i]) << kDistances[i];
  }
}

TEST(AlibiSlope, FollowsTheAuthorsForPowersOfTwoAndOthers) {
  EXPECT_FLOAT_EQ(alibi_slope(0, 8), 0.5F);
  EXPECT_FLOAT_EQ(alibi_slope(7, 8), 1.0F / 256);
  // 12 heads: those of 8, then every second one of 16.
  EXPECT_FLOAT_EQ(alibi_slope(7, 12), 1.0F / 256);
  EXPECT_FLOAT_EQ(alibi_slope(8, 12), 0.70710678F);
  EXPECT_FLOAT_EQ(alibi_slope(9, 12), 0.35355339F);
  EXPECT_FLOAT_EQ(alibi_slope(11, 12), 0.088388346F);
}

TEST(DistanceBias, IsATableByHeadAndDistance) {
  const Result<DistanceBias> bias =
      DistanceBias::make(3, 5, [](int head, int distance) { return static_cast<float>(100 * head + distance); });
  ASSERT_TRUE(bias.has_value());
  for (int head = 0; head < 3; ++head) {
    for (int distance = -4; distance <= 4; ++distance) {
      EXPECT_EQ((bias->centre() + head * bias->head_stride())[distance], static_cast<float>(100 * head + distance));
    }
  }
  EXPECT_FALSE(DistanceBias().exists());
}

TEST(DistanceBias, RefusesATableBeyondTheBound) {
  const Result<DistanceBias> bias = DistanceBias::make(1024, 1 << 20, [](int, int) { return 0.0F; });
  ASSERT_FALSE(bias.has_value());
  EXPECT_EQ(bias.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace inlay
