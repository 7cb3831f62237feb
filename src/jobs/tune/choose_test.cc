#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "jobs/tune/tune_report.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kSlo = 0.05;

BatchPoint batch(int tokens, double tokens_per_second, double p50 = 0.01, double memory_share = 0.01) {
  return {.batch_tokens = tokens, .tokens_per_second = tokens_per_second, .p50 = p50, .memory_share = memory_share};
}

LoadPoint load(int batch_tokens, int clients, double requests_per_second, double p99) {
  return {.batch_tokens = batch_tokens, .clients = clients, .requests_per_second = requests_per_second, .p99 = p99};
}

std::string end_of(const std::vector<BatchPoint>& points, double text_tokens = 4) {
  return end_of_batches(points, {.slo_p99 = kSlo, .text_tokens = text_tokens, .most_tokens = 16384});
}

TEST(TuneBatches, GoOnWhileTheyGain) {
  EXPECT_EQ(end_of({}), "");
  EXPECT_EQ(end_of({batch(64, 100), batch(128, 150), batch(256, 160)}), "");
}

TEST(TuneBatches, EndWhereTheCurveIsFlat) {
  const std::vector<BatchPoint> flat = {batch(64, 100), batch(128, 150), batch(256, 151), batch(512, 149)};
  EXPECT_THAT(end_of(flat), HasSubstr("flat"));
  EXPECT_EQ(end_of({batch(64, 100), batch(128, 150), batch(256, 151)}), "") << "one flat step may be noise";
  EXPECT_EQ(end_of(flat, 100), "") << "32 texts of 100 tokens are not reached";
}

TEST(TuneBatches, EndBeforeMemoryDoes) {
  EXPECT_THAT(end_of({batch(64, 100, 0.01, 0.3), batch(128, 200, 0.01, 0.5)}), HasSubstr("80 %"));
  EXPECT_EQ(end_of({batch(64, 100, 0.01, 0.3), batch(128, 200, 0.01, 0.4)}), "");
}

TEST(TuneBatches, EndWhereABatchOutlastsTheObjective) {
  EXPECT_THAT(end_of({batch(64, 100, 0.051)}), HasSubstr("longer than the objective"));
}

TEST(TuneBatches, EndAtTheLargest) { EXPECT_THAT(end_of({batch(16384, 100)}), HasSubstr("largest")); }

TEST(TuneBatches, LoadsTheFastestThatFit) {
  const std::vector<BatchPoint> points = {batch(64, 50), batch(128, 91), batch(256, 99), batch(512, 100),
                                          batch(1024, 98, 0.06)};
  EXPECT_THAT(batches_to_load(points, kSlo, 4), ElementsAre(128, 256, 512));
  EXPECT_THAT(batches_to_load(points, kSlo, 2), ElementsAre(256, 512));
  EXPECT_THAT(batches_to_load(points, 0.001, 4), ElementsAre(64)) << "none fits: the quickest";
  EXPECT_THAT(batches_to_load({}, kSlo, 4), ElementsAre());
}

TEST(TuneThreads, TakesTheFewestThatAreFastEnough) {
  EXPECT_EQ(choose_threads(std::vector<ThreadPoint>{{1, 100}, {2, 190}, {4, 194}}), 2);
  EXPECT_EQ(choose_threads(std::vector<ThreadPoint>{{1, 100}, {2, 190}, {4, 250}}), 4);
}

TEST(TuneLoad, TakesTheMostRequestsWithinTheObjective) {
  const std::vector<LoadPoint> points = {load(256, 8, 900, 0.02), load(256, 16, 1000, 0.04), load(256, 32, 1200, 0.06),
                                         load(512, 16, 950, 0.045)};
  EXPECT_EQ(choose_load(points, kSlo)->clients, 16);
  EXPECT_EQ(choose_load(points, kSlo)->batch_tokens, 256);
}

TEST(TuneLoad, OfEqualOnesTakesTheLargestBatchThenTheQuickest) {
  const std::vector<LoadPoint> points = {load(256, 16, 1000, 0.02), load(512, 16, 985, 0.04), load(512, 8, 985, 0.03)};
  EXPECT_EQ(choose_load(points, kSlo)->batch_tokens, 512);
  EXPECT_EQ(choose_load(points, kSlo)->clients, 8);
}

TEST(TuneLoad, TakesTheQuickestWhereNothingFits) {
  EXPECT_EQ(choose_load(std::vector<LoadPoint>{load(256, 4, 100, 0.9), load(512, 2, 50, 0.7)}, kSlo)->batch_tokens, 512);
  EXPECT_FALSE(choose_load({}, kSlo).has_value());
}

// Measures again: with so many clients, this P99.
class Again {
 public:
  explicit Again(std::map<int, double> p99_of_clients) : p99_of_clients_(std::move(p99_of_clients)) {}
  LoadPoint confirm(std::vector<LoadPoint> closed) {
    Result<LoadPoint> confirmed = confirm_load(std::move(closed), kSlo, [this](const LoadPoint& point) -> Result<LoadPoint> {
      measured.push_back(point.clients);
      return load(point.batch_tokens, point.clients, point.requests_per_second, p99_of_clients_.at(point.clients));
    });
    EXPECT_TRUE(confirmed.has_value());
    return confirmed.value_or(LoadPoint());
  }
  std::vector<int> measured;

 private:
  std::map<int, double> p99_of_clients_;
};

TEST(TuneConfirmation, PromisesWhatTheSecondMeasurementSays) {
  Again again({{8, 0.03}});
  const LoadPoint confirmed = again.confirm({load(256, 4, 800, 0.01), load(256, 8, 1000, 0.02)});
  EXPECT_EQ(confirmed.clients, 8);
  EXPECT_EQ(confirmed.p99, 0.03);
  EXPECT_THAT(again.measured, ElementsAre(8));
}

TEST(TuneConfirmation, GoesOnToFewerClientsAlsoWhereEverySizeWasLucky) {
  std::vector<LoadPoint> lucky;
  for (const int size : {128, 256, 512, 1024}) {
    lucky.push_back(load(size, 8, 900, 0.02));
    lucky.push_back(load(size, 16, 1000, 0.049));
  }
  Again again({{8, 0.02}, {16, 0.051}});
  EXPECT_EQ(again.confirm(lucky).clients, 8);
  EXPECT_THAT(again.measured, ElementsAre(16, 8));
}

TEST(TuneConfirmation, StaysWithTheNearestWhereNothingKeepsTheObjective) {
  Again again({{2, 0.06}, {4, 0.09}});
  EXPECT_EQ(again.confirm({load(256, 2, 100, 0.06), load(512, 4, 150, 0.09)}).clients, 2);
  EXPECT_THAT(again.measured, ElementsAre(2)) << "the others lost it by more already";
  Again lucky({{2, 0.06}, {4, 0.055}});
  EXPECT_EQ(lucky.confirm({load(256, 2, 100, 0.03), load(512, 4, 150, 0.04)}).clients, 4) << "both were lucky";
}

TEST(TuneConfirmation, PassesAnErrorOn) {
  const Result<LoadPoint> failed = confirm_load({load(256, 2, 100, 0.01)}, kSlo, [](const LoadPoint&) -> Result<LoadPoint> {
    return fail(ErrorCode::kCancelled, "interrupted");
  });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kCancelled);
}

TEST(TuneDelay, TakesTheShortestThatIsAsGood) {
  std::vector<LoadPoint> points = {load(256, 8, 900, 0), load(256, 8, 985, 0), load(256, 8, 1000, 0)};
  points[1].queue_delay_us = 1000;
  points[2].queue_delay_us = 5000;
  EXPECT_EQ(choose_delay(points), 1000);
  EXPECT_EQ(choose_delay({}), 0);
}

TEST(TuneRate, StopsAtTheFirstThatMisses) {
  std::vector<LoadPoint> points = {load(256, 0, 500, 0.02), load(256, 0, 700, 0.06), load(256, 0, 800, 0.04)};
  EXPECT_EQ(choose_rate(points, kSlo), points.data());
  points[0].rejected = 1;
  EXPECT_EQ(choose_rate(points, kSlo), nullptr);
}

TEST(TuneConfig, SaysWhatServeReads) {
  TuneReport report;
  report.model = "some/model";
  report.dtype = "int8";
  report.choice = {.threads = 2, .batch_tokens = 512, .clients = 24, .queue_delay_us = 1000, .keeps_objective = true};
  const std::string config = tune_config(report);
  for (const char* line : {"\ndtype = \"int8\"\n", "\nthreads = 2\n", "\nmax-batch-tokens = 512\n",
                           "\nmax-queue-delay-us = 1000\n", "\nmax-concurrent-requests = 24\n"}) {
    EXPECT_THAT(config, HasSubstr(line));
  }
}

}  // namespace
}  // namespace inlay
