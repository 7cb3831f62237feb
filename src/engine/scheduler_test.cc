#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <future>
#include <random>

#include "engine/scheduler_core.h"
#include "engine/scheduler_test_runner.h"
#include "engine/scheduler_testing.h"

namespace inlay {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

TokenizedText text_of(int32_t first, size_t length) {
  TokenizedText text;
  text.ids.assign(length, 1);
  text.ids.front() = first;
  return text;
}

WorkRequest request_of(std::vector<TokenizedText> texts, Priority priority = Priority::kStandard) {
  WorkRequest request;
  request.texts = std::move(texts);
  request.priority = priority;
  return request;
}

// Submits what must be admitted.
std::future<WorkResult> send(Scheduler& scheduler, int32_t first, size_t length = 5, Priority priority = Priority::kStandard) {
  return send(scheduler, request_of({text_of(first, length)}, priority));
}

struct Started {
  TestRunner* runner = nullptr;
  std::unique_ptr<Scheduler> scheduler;
};
Started start(
    int lanes, const SchedulerOptions& options = {},
    std::function<void(std::span<const TokenizedText* const>, const Share&)> on_run = [](auto, const Share&) {}) {
  std::unique_ptr<TestRunner> runner = std::make_unique<TestRunner>(lanes);
  runner->on_run = std::move(on_run);
  TestRunner* const observed = runner.get();
  return {observed, std::make_unique<Scheduler>(std::move(runner), options)};
}

// Right vectors in the wrong order are wrong vectors.
TEST(Scheduler, CaseH17KeepsTheOrderOfTexts) {
  const Started started = start(3);
  std::mt19937 random(17);
  std::vector<TokenizedText> texts;
  for (int i = 0; i < 64; ++i) texts.push_back(text_of(1000 + i, 1 + random() % 100));
  std::vector<std::future<WorkResult>> answers;
  for (int i = 0; i < 8; ++i) answers.push_back(send(*started.scheduler, request_of(texts)));
  for (std::future<WorkResult>& answer : answers) {
    const WorkResult result = answer.get();
    ASSERT_EQ(result.vectors.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      ASSERT_TRUE(result.vectors[i]);
      EXPECT_THAT(*result.vectors[i], ElementsAre(static_cast<float>(1000 + i), static_cast<float>(texts[i].ids.size())));
    }
  }
}

TEST(Scheduler, AnswersAVeryLongListInOrder) {
  const Started started = start(2);
  std::vector<TokenizedText> texts;
  for (int i = 0; i < 50000; ++i) texts.push_back(text_of(i + 1000, 1 + static_cast<size_t>(i % 7)));
  const WorkResult result = send(*started.scheduler, request_of(std::move(texts))).get();
  ASSERT_EQ(result.vectors.size(), 50000U);
  for (size_t i = 0; i < result.vectors.size(); ++i) ASSERT_EQ(result.vectors[i]->front(), static_cast<float>(i + 1000));
}

TEST(Scheduler, AnswersARequestWithoutTexts) {
  const Started started = start(1);
  EXPECT_TRUE(send(*started.scheduler, WorkRequest{}).get().vectors.empty());
}

TEST(Scheduler, GivesEachTextItsOwnError) {
  const Started started = start(2);
  TokenizedText empty;
  const WorkResult result =
      send(*started.scheduler, request_of({text_of(1, 3), empty, text_of(kNotFinite, 3), text_of(2, 101), text_of(3, 3)}))
          .get();
  ASSERT_EQ(result.vectors.size(), 5U);
  EXPECT_TRUE(result.vectors[0]);
  EXPECT_EQ(result.vectors[1].error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.vectors[2].error().code, ErrorCode::kInternal);
  EXPECT_EQ(result.vectors[3].error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(result.vectors[4]);
  const WorkResult only_errors = send(*started.scheduler, request_of({empty, empty})).get();
  EXPECT_FALSE(only_errors.vectors[0]);
  EXPECT_FALSE(only_errors.vectors[1]);
}

// One exception in the forward pass ended the loop elsewhere, and took its batch mates along.
TEST(Scheduler, CaseH40SurvivesAFailingBatch) {
  for (const int lanes : {1, 3}) {
    Gate gate;
    std::atomic<bool> is_first = true;
    const Started started = start(lanes, {}, [&](auto, const Share&) {
      if (is_first.exchange(false)) gate.pass();
    });
    std::future<WorkResult> holder = send(*started.scheduler, 5, 60);
    gate.wait_for(1);  // what follows meets in one batch
    std::vector<std::future<WorkResult>> answers;
    for (int i = 0; i < 8; ++i) answers.push_back(send(*started.scheduler, i == 3 ? kThrows : 100 + i));
    gate.open();
    EXPECT_TRUE(holder.get().vectors[0]);
    for (int i = 0; i < 8; ++i) {
      const WorkResult result = answers[i].get();
      ASSERT_EQ(static_cast<bool>(result.vectors[0]), i != 3) << i;
      if (i == 3)
        EXPECT_EQ(result.vectors[0].error().code, ErrorCode::kInternal);
      else
        EXPECT_EQ(result.vectors[0]->front(), static_cast<float>(100 + i));
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(static_cast<bool>(send(*started.scheduler, i % 4 == 0 ? kThrows : 7).get().vectors[0]), i % 4 != 0);
    }
    EXPECT_EQ(started.scheduler->metrics().failed, 6U);
  }
}

TEST(Scheduler, SurvivesAReceiverThatThrows) {
  const Started started = start(1);
  EXPECT_FALSE(
      started.scheduler->submit(request_of({text_of(1, 1)}), [](WorkResult) { throw std::runtime_error("receiver"); }));
  EXPECT_TRUE(send(*started.scheduler, 2).get().vectors[0]);
}

TEST(Scheduler, LetsAReceiverSubmitAgain) {
  SchedulerOptions options;
  options.max_concurrent_requests = 1;
  const Started started = start(2, options);
  std::promise<void> finished;
  int left = 100;
  std::function<void(WorkResult)> again = [&](WorkResult) {
    if (--left == 0) return finished.set_value();
    EXPECT_FALSE(started.scheduler->submit(request_of({text_of(1, 2)}), again));
  };
  EXPECT_FALSE(started.scheduler->submit(request_of({text_of(1, 2)}), again));
  finished.get_future().wait();
}

TEST(Scheduler, RefusesWhatIsTooMuchAndTakesItAgainLater) {
  Gate gate;
  SchedulerOptions options;
  options.max_concurrent_requests = 3;
  options.max_queue_tokens = 100;
  const Started started = start(1, options, [&](auto, const Share&) { gate.pass(); });
  std::vector<std::future<WorkResult>> answers;
  const auto refusal = [&](std::vector<TokenizedText> texts) {
    const std::optional<Overload> overload =
        started.scheduler->submit(request_of(std::move(texts)), [](WorkResult) { FAIL(); });
    EXPECT_TRUE(overload);
    return overload.value_or(Overload());
  };
  answers.push_back(send(*started.scheduler, 1, 60));
  EXPECT_EQ(refusal({text_of(1, 41)}).kind, Rejection::kQueueFull);
  EXPECT_GT(refusal({text_of(1, 21), text_of(1, 20)}).retry_after.count(), 0);  // a list is one decision
  const Overload never = refusal({text_of(1, 51), text_of(1, 50)});
  EXPECT_EQ(never.kind, Rejection::kTooLarge);
  EXPECT_EQ(never.retry_after.count(), 0);
  answers.push_back(send(*started.scheduler, 1, 20));
  answers.push_back(send(*started.scheduler, 1, 10));
  EXPECT_EQ(refusal({text_of(1, 1)}).kind, Rejection::kTooManyRequests);
  gate.open();
  for (std::future<WorkResult>& answer : answers) EXPECT_TRUE(answer.get().vectors[0]);
  EXPECT_TRUE(send(*started.scheduler, 1, 100).get().vectors[0]);
  EXPECT_THAT(started.scheduler->metrics().rejected, ElementsAre(1, 2, 1, 0));
}

// Sent = answered + refused, whatever the limit, for single texts and lists alike.
TEST(Scheduler, CaseH41LosesNothingUnderOverload) {
  for (const int limit : {1, 2, 16}) {
    SchedulerOptions options;
    options.max_concurrent_requests = limit;
    const Started started = start(2, options);
    std::atomic<int> answered = 0;
    std::atomic<int> refused = 0;
    std::vector<std::thread> clients;
    for (int client = 0; client < 4; ++client) {
      clients.emplace_back([&, client] {
        for (int i = 0; i < 300; ++i) {
          const std::vector<TokenizedText> texts(client % 2 == 0 ? 1 : 64, text_of(client, 3));
          const std::optional<Overload> overload =
              started.scheduler->submit(request_of(texts), [&](WorkResult) { ++answered; });
          if (overload) ++refused;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(started.scheduler->drain(milliseconds(5000)));
    EXPECT_EQ(answered + refused, 1200);
    EXPECT_GT(answered, 0);
  }
}

TEST(Scheduler, DropsTextsOfVanishedClientsAndPastDeadlines) {
  Gate gate;
  std::atomic<int> texts_run = 0;
  const Started started = start(1, {}, [&](std::span<const TokenizedText* const> texts, const Share&) {
    texts_run += static_cast<int>(texts.size());
    gate.pass();
  });
  std::future<WorkResult> running = send(*started.scheduler, 1);
  gate.wait_for(1);
  WorkRequest gone = request_of({text_of(2, 2), text_of(3, 3)});
  gone.cancelled = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<std::atomic<bool>> flag = gone.cancelled;
  WorkRequest late = request_of({text_of(4, 4)}, Priority::kBulk);
  late.deadline = Clock::now() - milliseconds(1);
  std::future<WorkResult> gone_answer = send(*started.scheduler, std::move(gone));
  std::future<WorkResult> late_answer = send(*started.scheduler, std::move(late));
  *flag = true;
  gate.open();
  const WorkResult gone_result = gone_answer.get();
  EXPECT_EQ(gone_result.vectors[0].error().code, ErrorCode::kCancelled);
  EXPECT_EQ(gone_result.vectors[1].error().code, ErrorCode::kCancelled);
  EXPECT_EQ(late_answer.get().vectors[0].error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(running.get().vectors[0]);
  EXPECT_EQ(texts_run, 1);
  const SchedulerMetrics metrics = started.scheduler->metrics();
  EXPECT_EQ(metrics.cancelled, 2U);
  EXPECT_EQ(metrics.expired, 1U);
}

TEST(Scheduler, DrainsAndThenTakesNothing) {
  Gate gate;
  const Started started = start(2, {}, [&](auto, const Share&) { gate.pass(); });
  std::vector<std::future<WorkResult>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(send(*started.scheduler, 1, 40));
  EXPECT_FALSE(started.scheduler->drain(milliseconds(10)));
  const std::optional<Overload> refused = started.scheduler->submit(request_of({text_of(1, 1)}), [](WorkResult) { FAIL(); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, Rejection::kDraining);
  gate.open();
  EXPECT_TRUE(started.scheduler->drain(milliseconds(5000)));
  for (std::future<WorkResult>& answer : answers) {
    ASSERT_EQ(answer.wait_for(milliseconds(0)), std::future_status::ready);
    EXPECT_TRUE(answer.get().vectors[0]);
  }
}

TEST(Scheduler, FinishesWhatWasAdmittedWhenDestroyed) {
  std::vector<std::future<WorkResult>> answers;
  {
    SchedulerOptions options;
    options.max_queue_delay[2] = std::chrono::milliseconds(50);
    const Started started = start(2, options);
    for (int i = 0; i < 200; ++i) answers.push_back(send(*started.scheduler, 1, 10, static_cast<Priority>(i % 3)));
  }
  for (std::future<WorkResult>& answer : answers) EXPECT_TRUE(answer.get().vectors[0]);
}

// The only lane is inside a bulk batch that ends only once the query has been answered.
TEST(Scheduler, RunsAQueryInTheMiddleOfABulkBatch) {
  std::atomic<bool> bulk_runs = false;
  std::atomic<bool> query_answered = false;
  const Started started = start(1, {}, [&](std::span<const TokenizedText* const> texts, const Share& share) {
    if (texts[0]->ids.front() != 1) return;
    bulk_runs = true;
    const Clock::time_point limit = Clock::now() + std::chrono::seconds(5);
    while (!query_answered && Clock::now() < limit) share.give_way();
    EXPECT_TRUE(query_answered);
  });
  std::future<WorkResult> bulk = send(*started.scheduler, 1, 60, Priority::kBulk);
  while (!bulk_runs) std::this_thread::yield();
  EXPECT_FALSE(started.scheduler->submit(request_of({text_of(9, 3)}, Priority::kInteractive), [&](WorkResult result) {
    EXPECT_THAT(*result.vectors[0], ElementsAre(9, 3));
    query_answered = true;
  }));
  EXPECT_THAT(*bulk.get().vectors[0], ElementsAre(1, 60));
  EXPECT_EQ(started.scheduler->metrics().interruptions, 1U);
}

TEST(Scheduler, SurvivesAFailingQueryInTheMiddleOfABulkBatch) {
  std::atomic<bool> bulk_runs = false;
  std::atomic<bool> query_answered = false;
  const Started started = start(1, {}, [&](std::span<const TokenizedText* const> texts, const Share& share) {
    if (texts[0]->ids.front() != 1) return;
    bulk_runs = true;
    const Clock::time_point limit = Clock::now() + std::chrono::seconds(5);
    while (!query_answered && Clock::now() < limit) share.give_way();
  });
  std::future<WorkResult> bulk = send(*started.scheduler, 1, 60, Priority::kBulk);
  while (!bulk_runs) std::this_thread::yield();
  EXPECT_FALSE(started.scheduler->submit(request_of({text_of(kThrows, 3)}, Priority::kInteractive), [&](WorkResult result) {
    EXPECT_FALSE(result.vectors[0]);
    query_answered = true;
  }));
  EXPECT_TRUE(bulk.get().vectors[0]);
  EXPECT_TRUE(query_answered);
}

void wait_until_idle() { std::this_thread::sleep_for(milliseconds(50)); }

TEST(Scheduler, SharesALoneSmallBatchAmongIdleLanes) {
  std::atomic<int> ranks = 0;
  const Started started = start(3, {}, [&](auto, const Share& share) {
    ranks |= 1 << share.rank;
    share.sync();
    share.sync();
  });
  for (int i = 0; i < 50 && started.runner->most_ranks < 3; ++i) {
    wait_until_idle();
    ranks = 0;
    EXPECT_TRUE(send(*started.scheduler, 1, 10).get().vectors[0]);
  }
  EXPECT_EQ(started.runner->most_ranks, 3);
  EXPECT_EQ(ranks, 7);
  EXPECT_GE(started.scheduler->metrics().team_batches, 1U);
}

TEST(Scheduler, SurvivesAFailingTeam) {
  const Started started = start(3);
  for (int i = 0; i < 5; ++i) {
    wait_until_idle();
    EXPECT_FALSE(send(*started.scheduler, kThrows, 2).get().vectors[0]);
    EXPECT_TRUE(send(*started.scheduler, 8, 2).get().vectors[0]);
  }
  EXPECT_GE(started.scheduler->metrics().team_batches, 1U);
}

// Two lanes are busy when a team of the other two begins, and are idle again when the next small batch comes.
TEST(Scheduler, ATeamAndASmallBatchBesideItDoNotMeet) {
  constexpr int32_t kHeld = 7;
  Gate receivers;
  Gate helpers;
  std::unique_ptr<TestRunner> runner = std::make_unique<TestRunner>(4);
  runner->on_run = [&](std::span<const TokenizedText* const> texts, const Share& share) {
    if (share.rank > 0 && texts[0]->ids.front() == kHeld) helpers.pass();
  };
  SchedulerCore core(std::move(runner), {});
  const auto wait_for_idle = [&core](int lanes) {
    while (core.idle != lanes) std::this_thread::yield();
  };
  for (const int busy : {1, 2}) {
    wait_for_idle(5 - busy);
    ASSERT_FALSE(core.submit(request_of({text_of(1, 10)}), [&](WorkResult) { receivers.pass(); }));
    receivers.wait_for(busy);
  }
  wait_for_idle(2);
  std::atomic<bool> is_first_answered = false;
  ASSERT_FALSE(core.submit(request_of({text_of(kHeld, 10)}), [&](WorkResult) { is_first_answered = true; }));
  helpers.wait_for(1);
  receivers.open();
  wait_for_idle(2);
  std::promise<void> second;
  ASSERT_FALSE(core.submit(request_of({text_of(kHeld, 10)}), [&](WorkResult) { second.set_value(); }));
  second.get_future().wait();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(is_first_answered) << "one of its team has not finished";
  helpers.open();
  EXPECT_TRUE(core.drain(std::chrono::seconds(10)));
  EXPECT_TRUE(is_first_answered);
}

TEST(Scheduler, CostsNothingWhenIdle) {
  const Started started = start(4);
  send(*started.scheduler, 1).get();
  wait_until_idle();
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(milliseconds(200));
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(busy, 0.02);
}

TEST(Scheduler, ShowsWhatWaitsAndWhatRan) {
  Gate gate;
  const Started started = start(1, {}, [&](auto, const Share&) { gate.pass(); });
  std::future<WorkResult> first = send(*started.scheduler, 1, 10);
  gate.wait_for(1);
  std::vector<std::future<WorkResult>> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(send(*started.scheduler, 1, 20, Priority::kBulk));
  answers.push_back(send(*started.scheduler, 1, 7, Priority::kInteractive));
  gate.open();
  first.get();
  for (std::future<WorkResult>& answer : answers) EXPECT_GT(answer.get().queued.count(), 0);
  EXPECT_TRUE(started.scheduler->drain(milliseconds(5000)));
  wait_until_idle();
  const SchedulerMetrics metrics = started.scheduler->metrics();
  EXPECT_EQ(metrics.embedded, 5U);
  EXPECT_EQ(metrics.batch_tokens.sum, 77U);
  EXPECT_EQ(metrics.batch_texts.sum, 5U);
  EXPECT_EQ(metrics.batch_texts.counts[0], 2U);  // of one text
  EXPECT_EQ(metrics.waiting[2].requests, 0U);
  EXPECT_GT(metrics.lane_busy[0].count(), 0);
  EXPECT_EQ(metrics.predicted_drain.count(), 0);
}

TEST(Histogram, CountsByPowersOfTwo) {
  Histogram histogram;
  for (const uint64_t value : {0, 1, 2, 3, 4, 5, 1 << 30}) histogram.add(value);
  EXPECT_EQ(histogram.counts[0], 2U);
  EXPECT_EQ(histogram.counts[1], 1U);
  EXPECT_EQ(histogram.counts[2], 2U);
  EXPECT_EQ(histogram.counts[3], 1U);
  EXPECT_EQ(histogram.counts[Histogram::kBuckets - 1], 1U);
}

}  // namespace
}  // namespace inlay
