#include "engine/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace inlay {
namespace {

struct Shape {
  int64_t tokens = 0;
  int64_t squares = 0;
};

// Batches as they come: single queries, and documents of one length up to 256 tokens.
class Load {
 public:
  explicit Load(uint32_t seed) : random_(seed) {}
  Shape next() {
    const int64_t length = 4 + static_cast<int64_t>(random_() % 200);
    const int64_t texts = random_() % 3 == 0 ? 1 : std::max<int64_t>(1, 256 / length);
    return {length * texts, length * length * texts};
  }
  double noise(double share) { return 1 + share * (static_cast<double>(random_()) / 2147483648.0 - 1); }

 private:
  std::mt19937 random_;
};

double true_seconds(const Shape& shape, double speed = 1) {
  return (3e-4 + 2.1e-4 * static_cast<double>(shape.tokens) + 1.2e-7 * static_cast<double>(shape.squares)) / speed;
}

double worst_error(const CostModel& model, double speed = 1) {
  Load load(99);
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    const Shape shape = load.next();
    worst = std::max(worst, std::abs(model.predict(shape.tokens, shape.squares) / true_seconds(shape, speed) - 1));
  }
  return worst;
}

TEST(CostModel, FindsTheCoefficientsOfExactTimes) {
  CostModel model;
  Load load(1);
  for (int i = 0; i < 300; ++i) {
    const Shape shape = load.next();
    model.observe(shape.tokens, shape.squares, true_seconds(shape));
  }
  EXPECT_LT(worst_error(model), 0.01);
  EXPECT_NEAR(model.coefficients().a, 3e-4, 3e-5);
  EXPECT_NEAR(model.coefficients().b, 2.1e-4, 4e-6);
  EXPECT_NEAR(model.coefficients().c, 1.2e-7, 2e-8);
}

// Reading the weights takes 4 ms, however few the tokens are.
TEST(CostModel, KnowsThatFewTokensWaitForTheWeights) {
  CostModel model;
  std::mt19937 random(4);
  const auto seconds = [](const Shape& shape) {
    return std::max(4e-3, 1.7e-4 * static_cast<double>(shape.tokens)) + 6e-8 * static_cast<double>(shape.squares);
  };
  for (int i = 0; i < 1000; ++i) {
    const int64_t length = i % 4 == 0 ? 24 + random() % 230 : 6 + random() % 12;
    const Shape shape = {length, length * length};
    model.observe(shape.tokens, shape.squares, seconds(shape));
  }
  for (const int64_t length : {8, 12, 50, 150, 250}) {
    EXPECT_NEAR(model.predict(length, length * length) / seconds({length, length * length}), 1, 0.1) << length;
  }
  // Four documents: without the term for few tokens this was half as much again too large.
  EXPECT_NEAR(model.predict(1000, 4 * 250 * 250) / seconds({1000, 4 * 250 * 250}), 1, 0.1);
  EXPECT_NEAR(model.predict(1000, 20 * 50 * 50) / seconds({1000, 20 * 50 * 50}), 1, 0.1);
}

TEST(CostModel, StaysNearUnderNoiseAndOutliers) {
  CostModel model;
  Load load(2);
  for (int i = 0; i < 1000; ++i) {
    const Shape shape = load.next();
    const double stall = i % 20 == 7 ? 30 : 1;
    model.observe(shape.tokens, shape.squares, true_seconds(shape) * load.noise(0.1) * stall);
  }
  EXPECT_LT(worst_error(model), 0.1);
}

TEST(CostModel, FollowsAMachineThatSlowsDown) {
  CostModel model;
  Load load(3);
  for (int i = 0; i < 2000; ++i) {
    const Shape shape = load.next();
    model.observe(shape.tokens, shape.squares, true_seconds(shape, i < 1000 ? 1 : 0.5) * load.noise(0.05));
  }
  EXPECT_LT(worst_error(model, 0.5), 0.1);
}

// Without a bound the covariance of what was never seen grows until numbers overflow.
TEST(CostModel, StaysFiniteWhenAllBatchesAreAlike) {
  CostModel model;
  for (int i = 0; i < 100000; ++i) model.observe(256, 256 * 64, 0.05);
  EXPECT_NEAR(model.predict(256, 256 * 64), 0.05, 1e-3);
  EXPECT_TRUE(std::isfinite(model.predict(1, 1)));
  model.observe(1, 1, 0);
  EXPECT_GT(model.predict(1, 1), 0);
}

}  // namespace
}  // namespace inlay
