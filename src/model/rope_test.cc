// Frequencies and angles of rotary positions, against what transformers 5.24 computes (ROPE_INIT_FUNCTIONS, heads of 16).
#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace inlay {
namespace {

using Kind = RopeConfig::Kind;

void expect_frequencies(const RopeConfig& config, int length, const std::vector<float>& wanted) {
  const std::vector<float> found = rope_frequencies(config, 16, length);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 3e-7 * std::abs(wanted[i])) << i;
}

TEST(Rope, FrequenciesAreThoseOfTransformers) {
  expect_frequencies(
      {.theta = 10000}, 0,
      {1.0F, 0.316227764F, 0.100000001F, 0.0316227786F, 0.00999999978F, 0.00316227786F, 0.00100000005F, 0.000316227786F});
  expect_frequencies({.kind = Kind::kLinear, .theta = 10000, .factor = 2.5}, 0,
                     {0.400000006F, 0.1264911F, 0.0399999991F, 0.0126491114F, 0.00399999972F, 0.00126491114F, 0.000400000019F,
                      0.000126491112F});
  expect_frequencies(
      {.kind = Kind::kLlama3, .theta = 500, .factor = 8, .original_positions = 32}, 0,
      {1.0F, 0.237489685F, 0.0311854575F, 0.0121561559F, 0.00559017016F, 0.0025707141F, 0.00118217699F, 0.000543639821F});
}

TEST(Rope, YarnRampsBetweenTwoNumbersOfTurns) {
  RopeConfig config = {.kind = Kind::kYarn, .theta = 1000, .factor = 4, .original_positions = 32};
  expect_frequencies(
      config, 0,
      {1.0F, 0.263560325F, 0.0444569848F, 0.0187473539F, 0.00790569466F, 0.00333380373F, 0.00140585331F, 0.000592843455F});
  config.truncate = false;
  config.beta_fast = 16;
  config.beta_slow = 2;
  expect_frequencies(
      config, 0,
      {1.0F, 0.129529938F, 0.0444569848F, 0.0187473539F, 0.00790569466F, 0.00333380373F, 0.00140585331F, 0.000592843455F});
}

TEST(Rope, DynamicScalingBeginsBeyondTheTrainedLength) {
  const RopeConfig config = {.kind = Kind::kDynamic, .theta = 10000, .factor = 4, .original_positions = 64};
  expect_frequencies(
      config, 100,
      {1.0F, 0.267223001F, 0.0714081228F, 0.0190818924F, 0.00509912008F, 0.00136260199F, 0.000364118576F, 9.730085e-05F});
  EXPECT_EQ(rope_frequencies(config, 16, 64), rope_frequencies({.theta = 10000}, 16, 0));
  const RopeTable table(config, 16, 256);
  EXPECT_FALSE(table.depends_on(64));
  EXPECT_TRUE(table.depends_on(65));
}

// gte-multilingual-base: theta 20000 and factor 8, at every length; no single theta gives these.
TEST(Rope, NtkScalingOfGteHoldsAtEveryLength) {
  expect_frequencies({.kind = Kind::kNtk, .theta = 20000, .factor = 8}, 0,
                     {0.771105409F, 0.172424406F, 0.0385552682F, 0.00862122048F, 0.00192776346F, 0.000431061024F,
                      9.63881757e-05F, 2.15530526e-05F});
}

TEST(Rope, RowsAreTheSameWhoeverAsksFirst) {
  const RopeConfig config = {.theta = 1000, .attention_factor = 1.25};
  const RopeTable table(config, 16, 1000);
  std::vector<std::thread> threads;
  for (const int positions : {1, 700, 1000, 257}) threads.emplace_back([&table, positions] { table.grow(positions); });
  for (std::thread& thread : threads) thread.join();
  std::vector<float> row(16);
  const std::vector<float> frequencies = table.frequencies(0);
  for (const int position : {0, 1, 255, 256, 999}) {
    table.compute(frequencies, position, row.data());
    for (int i = 0; i < 16; ++i) EXPECT_EQ(table.row(position)[i], row[i]) << position;
    const float angle = static_cast<float>(position) * frequencies[3];
    EXPECT_FLOAT_EQ(table.row(position)[3], 1.25F * std::cos(angle));
    EXPECT_FLOAT_EQ(table.row(position)[11], 1.25F * std::sin(angle));
  }
}

}  // namespace
}  // namespace inlay
