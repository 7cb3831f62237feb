#include "jobs/validate/quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace inlay {
namespace {

// Values of numpy 2: numpy.percentile(x, [50, 95, 99]) and x.mean() of x = (7 * i % 101) / 10 for i in range(101).
TEST(Quality, DistributionIsThatOfNumpy) {
  std::vector<double> values;
  for (int i = 0; i < 101; ++i) values.push_back(7 * i % 101 / 10.0);
  const Distribution found = distribution_of(values);
  EXPECT_EQ(found.count, 101U);
  EXPECT_NEAR(found.mean, 5.0, 1e-12);
  EXPECT_NEAR(found.p50, 5.0, 1e-12);
  EXPECT_NEAR(found.p95, 9.5, 1e-12);
  EXPECT_NEAR(found.p99, 9.9, 1e-12);
  EXPECT_EQ(found.max, 10.0);
}

// numpy.percentile([1, 2, 4, 8], [0, 25, 50, 90, 99, 100]) = 1, 1.75, 3, 6.8, 7.88, 8.
TEST(Quality, PercentilesLieOnLinesBetweenNeighbours) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  const std::vector<std::pair<double, double>> expected = {{0, 1}, {0.25, 1.75}, {0.5, 3}, {0.9, 6.8}, {0.99, 7.88}, {1, 8}};
  for (const auto& [share, value] : expected) EXPECT_NEAR(percentile(sorted, share), value, 1e-12) << share;
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(Quality, DistanceIsOneLessTheCosine) {
  const std::vector<float> a = {3, 4};
  EXPECT_NEAR(cosine_distance(a, std::vector<float>{6, 8}), 0, 1e-15);
  EXPECT_NEAR(cosine_distance(a, std::vector<float>{4, 3}), 1 - 24.0 / 25, 1e-15);
  EXPECT_NEAR(cosine_distance(a, std::vector<float>{-3, -4}), 2, 1e-15);
  EXPECT_EQ(cosine_distance(a, std::vector<float>{0, 0}), 1);
  EXPECT_EQ(cosine_distance(std::vector<float>{0, 0}, std::vector<float>{0, 0}), 0);
}

TEST(Quality, ProductsTakeEveryNumberOfOddSizes) {
  for (const size_t size : {1U, 7U, 8U, 9U, 31U, 384U}) {
    std::vector<float> a(size);
    std::iota(a.begin(), a.end(), 1.0F);
    double expected = 0;
    for (const float value : a) expected += double{value} * value;
    EXPECT_EQ(dot_product(a, a), expected) << size;
  }
}

TEST(Quality, HistogramPutsADistanceBetweenItsEdges) {
  DistanceHistogram histogram;
  for (const double distance : {0.0, 9.9e-9, 1e-8, 0.0031, 0.999, 1.0, 2.0}) histogram.add(distance);
  EXPECT_EQ(histogram.counts[0], 2U);
  EXPECT_EQ(histogram.counts[1], 1U);
  EXPECT_EQ(histogram.counts.back(), 2U);
  const auto bucket = std::find(histogram.counts.begin() + 2, histogram.counts.end() - 2, 1U) - histogram.counts.begin();
  EXPECT_LE(DistanceHistogram::edge(static_cast<int>(bucket) - 1), 0.0031);
  EXPECT_GT(DistanceHistogram::edge(static_cast<int>(bucket)), 0.0031);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), uint64_t{0}), 7U);
}

}  // namespace
}  // namespace inlay
