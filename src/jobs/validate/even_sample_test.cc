#include "jobs/validate/even_sample.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace inlay {
namespace {

std::vector<int> sample_of(int count, size_t wanted, uint64_t seed) {
  EvenSample<int> sample(wanted, seed);
  for (int i = 0; i < count; ++i) sample.add(i);
  return sample.take();
}

TEST(EvenSample, TakesAllOfAShortStreamInOrder) {
  EXPECT_EQ(sample_of(0, 5, 1), std::vector<int>());
  EXPECT_EQ(sample_of(4, 5, 1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(sample_of(5, 5, 1), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(EvenSample, SpreadsOverTheWholeStream) {
  for (const int count : {6, 97, 1000, 12345}) {
    for (const uint64_t seed : {1U, 2U, 3U}) {
      const std::vector<int> sample = sample_of(count, 5, seed);
      ASSERT_EQ(sample.size(), 5U) << count;
      EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
      EXPECT_EQ(std::adjacent_find(sample.begin(), sample.end()), sample.end());
      // A stretch is a fifth to a tenth of the stream, and a sample takes one of two neighbours at most.
      for (size_t i = 0; i + 1 < sample.size(); ++i) EXPECT_LE(sample[i + 1] - sample[i], count * 3 / 5 + 1) << count;
    }
  }
}

TEST(EvenSample, SeesNoPatternOfTheStream) {
  int odd = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const int value : sample_of(1024, 8, seed)) odd += value % 2;
  }
  EXPECT_NEAR(odd / 1600.0, 0.5, 0.06);  // more than four standard deviations of 1,600 fair coins
}

TEST(EvenSample, IsTheSameForTheSameSeed) {
  EXPECT_EQ(sample_of(1000, 7, 42), sample_of(1000, 7, 42));
  EXPECT_NE(sample_of(1000, 7, 42), sample_of(1000, 7, 43));
}

}  // namespace
}  // namespace inlay
