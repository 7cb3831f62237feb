#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine_testing.h"
#include "jobs/tune/load.h"

namespace inlay {
namespace {

constexpr double kCounted = 0.8;  // of the time: the rest warms up

ServedEngine small_model() {
  EngineOptions options;
  options.model = golden_model("bert-tiny");
  options.threads = 2;
  ServedEngine model;
  model.serving = must(options_for_serving(std::move(options)));
  model.engine = std::make_shared<const Engine>(must(Engine::load(model.serving.engine)));
  return model;
}

// What JSON has to escape; a server that could not read one would end the run.
LoadTexts ugly_texts(const Engine& engine) {
  return must(texts_for_load(engine, {"a \"bridge\"\n\tover\\cold", "\x01 water \xC3\xBC\xE6\xB0\xB4\xF0\x9F\x8C\x8A", "x"}));
}

TEST(RunLoad, ClientsAskAgainWhenTheyAreAnswered) {
  const ServedEngine model = small_model();
  const LoadPoint point = must(run_load(model, ugly_texts(*model.engine), {.clients = 3, .seconds = 0.5}, nullptr));
  EXPECT_EQ(point.clients, 3);
  EXPECT_EQ(point.rejected, 0U);
  EXPECT_GT(point.requests, 10U);
  // What was due and what was answered in that time differ by what was under way at its ends.
  EXPECT_NEAR(static_cast<double>(point.requests), point.requests_per_second * kCounted * 0.5, 2 * 3 + 1e-6);
  EXPECT_LT(0, point.p50);
  EXPECT_LE(point.p50, point.p99);
  // Each client waits for its answer: more than all of the time of three clients can't have been waited.
  EXPECT_LE(0.5 * point.requests_per_second * point.p50, 3);
  EXPECT_LT(0, point.lane_use);
  EXPECT_LE(1, point.batch_texts);
}

TEST(RunLoad, ArrivalsComeAtTheRate) {
  const ServedEngine model = small_model();
  const double rate = 300;
  const LoadPoint point = must(run_load(model, ugly_texts(*model.engine), {.rate = rate, .seconds = 1, .seed = 7}, nullptr));
  const double expected = kCounted * rate;
  EXPECT_NEAR(static_cast<double>(point.requests), expected, 5 * std::sqrt(expected)) << "as Poisson's are spread";
  EXPECT_EQ(point.rejected, 0U);
}

TEST(RunLoad, CountsWhatTheServerRefuses) {
  const ServedEngine model = small_model();
  LoadOptions options = {.clients = 4, .seconds = 0.5};
  options.scheduler.max_concurrent_requests = 1;
  const LoadPoint point = must(run_load(model, ugly_texts(*model.engine), options, nullptr));
  EXPECT_GT(point.rejected, 0U);
  EXPECT_GT(point.requests, 0U) << "one at a time is answered";
}

TEST(RunLoad, SendsIdsWhereThereAreNoTexts) {
  const ServedEngine model = small_model();
  const LoadPoint point = must(run_load(model, made_up_texts(*model.engine, 16, 3), {.clients = 2, .seconds = 0.3}, nullptr));
  EXPECT_GT(point.requests, 0U);
  EXPECT_GE(point.tokens_per_second, 4 * point.requests_per_second) << "the shortest has 4";
}

TEST(RunLoad, EndsWhenItIsStopped) {
  const ServedEngine model = small_model();
  const Clock::time_point begin = Clock::now();
  const Result<LoadPoint> stopped =
      run_load(model, ugly_texts(*model.engine), {.clients = 2, .seconds = 20}, [] { return true; });
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace inlay
