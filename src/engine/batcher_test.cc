#include "engine/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Priority kQuery = Priority::kInteractive;
constexpr Priority kNormal = Priority::kStandard;
constexpr Priority kImport = Priority::kBulk;

Clock::time_point at_ms(double ms) {
  return Clock::time_point(std::chrono::hours(1)) +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

std::vector<QueuedText> texts_of(const std::vector<int>& lengths) {
  std::vector<QueuedText> texts;
  for (const int length : lengths) texts.push_back({static_cast<uint32_t>(texts.size()), length});
  return texts;
}

struct Extra {
  std::string tenant = {};
  std::optional<Clock::time_point> deadline = {};
  const std::atomic<bool>* cancelled = nullptr;
};

// A batcher and the requests it was given, which are told apart by number.
class TestQueue {
 public:
  explicit TestQueue(const BatchLimits& limits = {}) : batcher(limits) {}

  QueuedRequest& add(double ms, Priority priority, const std::vector<int>& lengths, const Extra& extra = {}) {
    QueuedRequest& request = requests.emplace_back();
    number[&request] = static_cast<int>(number.size());
    request.set_texts(texts_of(lengths));
    request.priority = priority;
    request.arrival = at_ms(ms);
    request.tenant = extra.tenant;
    request.deadline = extra.deadline;
    request.cancelled = extra.cancelled;
    batcher.add(request);
    return request;
  }

  // Numbers of the requests of the next batch, one a text.
  std::vector<int> take(double ms, int idle_lanes = 1) {
    batcher.take(at_ms(ms), batch, idle_lanes);
    return members();
  }
  std::vector<int> take_before(Batch& running, double ms) {
    batcher.take_before(running, at_ms(ms), batch);
    return members();
  }
  std::vector<int> members() const {
    std::vector<int> numbers;
    for (const Batch::Item& item : batch.items) numbers.push_back(number.at(item.request));
    return numbers;
  }

  Batcher batcher;
  Batch batch;
  std::deque<QueuedRequest> requests;
  std::map<const QueuedRequest*, int> number;
};

TEST(Batcher, GivesNothingWhenNothingWaits) {
  TestQueue queue;
  EXPECT_THAT(queue.take(0), IsEmpty());
  EXPECT_EQ(queue.batcher.next_due(), std::nullopt);
  EXPECT_TRUE(queue.batcher.empty());
}

TEST(Batcher, KeepsTheOrderOfArrivalWithinATenant) {
  TestQueue queue({.max_batch_tokens = 64});
  for (int i = 0; i < 5; ++i) queue.add(i, kNormal, {20});
  EXPECT_THAT(queue.take(10), ElementsAre(0, 1, 2));
  EXPECT_THAT(queue.take(10), ElementsAre(3, 4));
  EXPECT_THAT(queue.take(10), IsEmpty());
}

TEST(Batcher, HoldsTheTokenBudgetButRunsALongerTextAlone) {
  TestQueue queue({.max_batch_tokens = 100});
  queue.add(0, kNormal, {60});
  queue.add(1, kNormal, {50});
  queue.add(2, kNormal, {300});
  EXPECT_THAT(queue.take(3), ElementsAre(0));
  EXPECT_THAT(queue.take(3), ElementsAre(2));  // large and small take turns: 60 tokens of small ones ran
  EXPECT_EQ(queue.batch.tokens, 300);
  EXPECT_EQ(queue.batch.squares, 90000);
  EXPECT_THAT(queue.take(3), ElementsAre(1));
}

TEST(Batcher, HoldsTheLimitOfTexts) {
  TestQueue queue({.max_batch_tokens = 1000, .max_batch_requests = 3});
  queue.add(0, kNormal, {1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(queue.take(0), SizeIs(3));
  EXPECT_THAT(queue.take(0), SizeIs(3));
  EXPECT_THAT(queue.take(0), SizeIs(1));
}

TEST(Batcher, TakesUrgentClassesFirstAndNeverMixesThem) {
  TestQueue queue;
  queue.add(0, kImport, {10});
  queue.add(1, kNormal, {10});
  queue.add(2, kQuery, {10});
  EXPECT_THAT(queue.take(20), ElementsAre(2));
  EXPECT_THAT(queue.take(20), ElementsAre(1));
  EXPECT_THAT(queue.take(20), ElementsAre(0));
}

TEST(Batcher, RunsTextsOfSimilarLengthTogether) {
  TestQueue queue({.max_batch_tokens = 100});
  queue.add(0, kNormal, {50, 9, 48, 10, 90, 8, 46, 49});
  std::vector<std::vector<uint32_t>> batches;
  while (!queue.take(0).empty()) {
    batches.emplace_back();
    for (const Batch::Item& item : queue.batch.items) batches.back().push_back(item.text);
  }
  EXPECT_THAT(batches, ElementsAre(ElementsAre(4), ElementsAre(0, 7), ElementsAre(2, 6), ElementsAre(3, 1, 5)));
}

TEST(Batcher, FillsABatchThatWouldBeHalfEmptyWithShortTexts) {
  TestQueue queue({.max_batch_tokens = 100});
  queue.add(0, kNormal, {40, 90, 5, 95});
  queue.add(0, kNormal, {80, 15, 10});
  EXPECT_THAT(queue.take(0), ElementsAre(0));  // 95
  EXPECT_THAT(queue.take(0), ElementsAre(0));  // 90
  EXPECT_THAT(queue.take(0), ElementsAre(0, 0, 1));
  EXPECT_EQ(queue.batch.tokens, 40 + 5 + 10);
}

// A list of 1,024 documents beside a query of the same tenant and class: the query is in the next batch, alone.
TEST(Batcher, SplitsALargeRequestSoThatAQueryWaitsForOneBatchAtMost) {
  TestQueue queue;
  queue.add(0, kNormal, std::vector<int>(1024, 200));
  EXPECT_THAT(queue.take(0), SizeIs(1));
  queue.add(1, kNormal, {12});
  EXPECT_THAT(queue.take(2), ElementsAre(1));
  size_t batches = 1;
  while (!queue.take(3).empty()) ++batches;
  EXPECT_EQ(batches, 1024U);
}

TEST(Batcher, SharesATenantsTokensBetweenSmallAndLargeRequests) {
  TestQueue queue;
  queue.add(0, kNormal, std::vector<int>(2000, 100));
  std::map<bool, int> tokens;
  for (int i = 0; i < 400; ++i) {
    queue.add(i, kNormal, {100});
    queue.add(i, kNormal, {100});
    ASSERT_FALSE(queue.take(i).empty());
    tokens[queue.batch.is_large] += queue.batch.tokens;
  }
  EXPECT_NEAR(tokens[true], tokens[false], 400);
}

TEST(Batcher, DividesAShallowQueueAmongLanes) {
  TestQueue queue({.max_batch_tokens = 256, .lanes = 2, .min_batch_tokens = 64});
  for (int i = 0; i < 8; ++i) queue.add(0, kQuery, {20});
  EXPECT_THAT(queue.take(0), SizeIs(4));  // half of 160
  EXPECT_THAT(queue.take(0), SizeIs(3));  // not less than 64 tokens would hold
  EXPECT_THAT(queue.take(0), SizeIs(1));
}

TEST(Batcher, LeavesEachIdleLaneItsShare) {
  TestQueue queue({.max_batch_tokens = 256, .lanes = 4, .min_batch_tokens = 64});
  for (int i = 0; i < 2; ++i) queue.add(0, kQuery, {12});
  EXPECT_THAT(queue.take(0, 2), ElementsAre(0));
  EXPECT_THAT(queue.take(0, 1), ElementsAre(1));
  for (int i = 0; i < 9; ++i) queue.add(1, kQuery, {12});
  EXPECT_THAT(queue.take(1, 4), SizeIs(2));
  EXPECT_THAT(queue.take(1, 3), SizeIs(2));
  EXPECT_THAT(queue.take(1, 2), SizeIs(2));
  EXPECT_THAT(queue.take(1, 1), SizeIs(3));
}

TEST(Batcher, GivesAnIdleLaneOneTextAtLeastHoweverLong) {
  TestQueue queue({.max_batch_tokens = 64, .lanes = 2});
  queue.add(0, kNormal, {200});
  EXPECT_THAT(queue.take(0, 2), ElementsAre(0));
}

// A list of one request spreads over idle lanes as single queries do, and what is deeper than that is not cut up.
TEST(Batcher, SharesListsAmongIdleLanesUpToFullBatches) {
  TestQueue queue({.max_batch_tokens = 100, .lanes = 2, .min_batch_tokens = 20});
  queue.add(0, kNormal, {10, 10, 10, 10});
  EXPECT_THAT(queue.take(0, 2), SizeIs(2));
  EXPECT_THAT(queue.take(0, 1), SizeIs(2));
  queue.add(0, kImport, std::vector<int>(50, 10));
  EXPECT_THAT(queue.take(0, 2), SizeIs(10));
}

TEST(Batcher, HoldsBatchesOfQueriesSmaller) {
  TestQueue queue({.max_batch_tokens = 256, .max_interactive_tokens = 128});
  for (int i = 0; i < 20; ++i) queue.add(0, kQuery, {20});
  for (int i = 0; i < 20; ++i) queue.add(0, kNormal, {20});
  EXPECT_THAT(queue.take(0), SizeIs(6));
  while (queue.batch.priority == kQuery) queue.take(0);
  EXPECT_THAT(queue.batch.items, SizeIs(12));
}

// One sends lists of long documents, the other short queries, and many more of them at a time.
TEST(Batcher, GivesTwoTenantsAtFullSpeedHalfEach) {
  for (const Priority priority : {kQuery, kNormal, kImport}) {
    TestQueue queue;
    std::map<std::string, int> waiting;
    std::map<std::string, double> tokens;
    for (int i = 0; i < 2000; ++i) {
      for (; waiting["lists"] < 4 * 32; waiting["lists"] += 32) {
        queue.add(i, priority, std::vector<int>(32, 230), {.tenant = "lists"});
      }
      for (; waiting["queries"] < 64; ++waiting["queries"]) queue.add(i, priority, {13}, {.tenant = "queries"});
      ASSERT_FALSE(queue.take(i + 100).empty());
      for (const Batch::Item& item : queue.batch.items) {
        --waiting[item.request->tenant];
        tokens[item.request->tenant] += item.request->texts.front().tokens;
      }
    }
    const double share = tokens["lists"] / (tokens["lists"] + tokens["queries"]);
    EXPECT_GT(share, 0.45);
    EXPECT_LT(share, 0.55);
  }
}

TEST(Batcher, GivesATenantThatComesLateItsTurnAtOnce) {
  TestQueue queue({.max_batch_tokens = 64});
  for (int i = 0; i < 100; ++i) queue.add(0, kNormal, {60}, {.tenant = "old"});
  EXPECT_THAT(queue.take(0), ElementsAre(0));
  EXPECT_THAT(queue.take(0), ElementsAre(1));
  queue.add(1, kNormal, {60}, {.tenant = "new"});
  const int first = queue.take(1).front();
  const int second = queue.take(1).front();
  EXPECT_TRUE(first == 100 || second == 100) << first << " " << second;
}

TEST(Batcher, TakesTheEarliestDeadlineFirstWithinATenant) {
  TestQueue queue({.max_batch_tokens = 10});
  queue.add(0, kNormal, {10});
  queue.add(1, kNormal, {10}, {.deadline = at_ms(500)});
  queue.add(2, kNormal, {10}, {.deadline = at_ms(100)});
  queue.add(3, kNormal, {10}, {.deadline = at_ms(60000)});  // later than the 10 s that stand for no deadline
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) order.push_back(queue.take(4).front());
  EXPECT_THAT(order, ElementsAre(2, 1, 0, 3));
}

TEST(Batcher, DropsExpiredRequestsBeforeTheyCost) {
  TestQueue queue;
  queue.add(0, kNormal, {10, 10}, {.deadline = at_ms(50)});
  queue.add(0, kImport, {10}, {.deadline = at_ms(40)});
  queue.add(1, kNormal, {10});
  EXPECT_THAT(queue.take(50), ElementsAre(2));
  ASSERT_THAT(queue.batch.dropped, SizeIs(2));
  for (const Batch::Dropped& dropped : queue.batch.dropped) EXPECT_TRUE(dropped.is_expired);
  EXPECT_TRUE(queue.batcher.empty());
}

TEST(Batcher, DropsOnlyTheRestOfARequestThatExpiresHalfway) {
  TestQueue queue({.max_batch_tokens = 20});
  QueuedRequest& request = queue.add(0, kNormal, {20, 19, 18}, {.deadline = at_ms(50)});
  EXPECT_THAT(queue.take(10), ElementsAre(0));
  EXPECT_THAT(queue.take(60), IsEmpty());
  ASSERT_THAT(queue.batch.dropped, SizeIs(1));
  EXPECT_EQ(request.begin, 1U);
  EXPECT_EQ(request.end, 3U);
}

TEST(Batcher, AsksToBeCalledWhenADeadlinePasses) {
  TestQueue queue({.max_queue_delay = {std::chrono::seconds(1), std::chrono::seconds(1), std::chrono::seconds(1)}});
  queue.add(0, kNormal, {1}, {.deadline = at_ms(30)});
  EXPECT_EQ(queue.batcher.next_due(), at_ms(30));
}

TEST(Batcher, DropsRequestsOfVanishedClients) {
  TestQueue queue({.max_batch_tokens = 10});
  std::atomic<bool> gone = false;
  queue.add(0, kNormal, {10, 10, 10}, {.cancelled = &gone});
  queue.add(0, kNormal, {10});
  EXPECT_THAT(queue.take(0), ElementsAre(1));
  EXPECT_THAT(queue.take(0), ElementsAre(0));
  gone = true;
  EXPECT_THAT(queue.take(1), IsEmpty());
  ASSERT_THAT(queue.batch.dropped, SizeIs(1));
  EXPECT_FALSE(queue.batch.dropped[0].is_expired);
  EXPECT_TRUE(queue.batcher.empty());
}

TEST(Batcher, SweepsVanishedClientsFromTheBackOfTheQueue) {
  TestQueue queue;
  std::atomic<bool> gone = true;
  for (int i = 0; i < 100; ++i) queue.add(0, kQuery, {200});
  queue.add(0, kImport, {200}, {.cancelled = &gone});
  queue.take(1000);
  EXPECT_THAT(queue.batch.dropped, SizeIs(1));
}

TEST(Batcher, KeepsTheLeastShareOfBulkUnderALoadOfQueries) {
  TestQueue queue({.min_share = {0, 0.2, 0.1}});
  queue.add(0, kNormal, std::vector<int>(5000, 100));
  queue.add(0, kImport, std::vector<int>(5000, 100));
  std::map<Priority, double> tokens;
  for (int i = 0; i < 3000; ++i) {
    for (int n = 0; n < 3; ++n) queue.add(i, kQuery, {100});
    ASSERT_FALSE(queue.take(i + 100).empty());
    tokens[queue.batch.priority] += queue.batch.tokens;
  }
  const double total = tokens[kQuery] + tokens[kNormal] + tokens[kImport];
  EXPECT_NEAR(tokens[kImport] / total, 0.1, 0.02);
  EXPECT_NEAR(tokens[kNormal] / total, 0.2, 0.03);
}

TEST(Batcher, ServesUrgentClassesStrictlyWithoutALeastShare) {
  TestQueue queue({.min_share = {0, 0, 0}});
  queue.add(0, kImport, std::vector<int>(50, 100));
  for (int i = 0; i < 1000; ++i) {
    queue.add(i, kQuery, {100});
    ASSERT_THAT(queue.take(i + 100), ElementsAre(i + 1));
  }
}

TEST(Batcher, WorksAtOnceWithoutADelay) {
  TestQueue queue;
  queue.add(0, kImport, {10});
  EXPECT_EQ(queue.batcher.next_due(), at_ms(0));
  EXPECT_THAT(queue.take(0), ElementsAre(0));
}

TEST(Batcher, WaitsForABatchToFillAndLessTheDeeperTheQueue) {
  TestQueue queue({.max_batch_tokens = 100, .max_queue_delay = {{{}, {}, std::chrono::milliseconds(40)}}});
  queue.add(0, kImport, {1});
  EXPECT_THAT(queue.take(39), IsEmpty());
  EXPECT_EQ(queue.batcher.next_due(), at_ms(39.6));
  queue.add(5, kImport, {49});
  EXPECT_EQ(queue.batcher.next_due(), at_ms(20));
  EXPECT_THAT(queue.take(19.9), IsEmpty());
  queue.add(6, kImport, {50});
  EXPECT_EQ(queue.batcher.next_due(), at_ms(0));
  EXPECT_THAT(queue.take(6), ElementsAre(0, 1, 2));
}

// The classic setting: up to 32 items, or 50 ms.
TEST(Batcher, CountsTextsForTheDelayWhenTheyAreLimited) {
  TestQueue queue({.max_batch_tokens = 16384, .max_batch_requests = 32, .max_queue_delay = {std::chrono::milliseconds(50)}});
  for (int i = 0; i < 31; ++i) queue.add(0, kQuery, {10});
  EXPECT_THAT(queue.take(1), IsEmpty());
  queue.add(1, kQuery, {10});
  EXPECT_THAT(queue.take(1), SizeIs(32));
}

TEST(Batcher, LetsQueriesInterruptBulkButNotEachOther) {
  TestQueue queue;
  queue.add(0, kImport, {250});
  queue.take(0);
  Batch bulk = queue.batch;
  EXPECT_THAT(queue.take_before(bulk, 0), IsEmpty());
  queue.add(1, kImport, {250});
  EXPECT_THAT(queue.take_before(bulk, 1), IsEmpty());
  queue.add(2, kQuery, {10});
  EXPECT_THAT(queue.take_before(bulk, 2), ElementsAre(2));
  Batch query = queue.batch;
  queue.add(3, kQuery, {10});
  EXPECT_THAT(queue.take_before(query, 3), IsEmpty());
}

TEST(Batcher, LetsSmallRequestsInterruptLargeOnesOfTheirClassUpToHalf) {
  TestQueue queue;
  queue.add(0, kNormal, std::vector<int>(32, 250));
  queue.take(0);
  Batch large = queue.batch;
  int tokens = 0;
  for (int i = 0; i < 100; ++i) {
    queue.add(i, kNormal, {10}, {.tenant = "other"});
    if (!queue.take_before(large, i).empty()) tokens += queue.batch.tokens;
  }
  EXPECT_GE(tokens, 250);
  EXPECT_LT(tokens, 250 + 256);
}

// Queries that interrupt a list get no more of the machine than those that wait their turn.
TEST(Batcher, KeepsTenantsEvenWhenOneInterruptsTheOther) {
  TestQueue queue;
  queue.add(0, kNormal, std::vector<int>(20000, 200), {.tenant = "lists"});
  std::map<std::string, double> tokens;
  const auto count = [&] {
    for (const Batch::Item& item : queue.batch.items) tokens[item.request->tenant] += item.request->texts.front().tokens;
  };
  for (int i = 0; i < 3000; ++i) {
    for (int n = 0; n < 80; ++n) queue.add(i, kNormal, {13}, {.tenant = "queries"});
    ASSERT_FALSE(queue.take(i).empty());
    count();
    Batch running = queue.batch;
    while (!queue.take_before(running, i).empty()) count();
  }
  const double share = tokens["lists"] / (tokens["lists"] + tokens["queries"]);
  EXPECT_GT(share, 0.45);
  EXPECT_LT(share, 0.55);
}

TEST(Batcher, LetsBulkFinishOnceItWasInterruptedBeyondItsShare) {
  TestQueue queue({.min_share = {0, 0.1, 0.1}});
  queue.add(0, kImport, {250});
  queue.take(0);
  Batch bulk = queue.batch;
  int tokens = 0;
  for (int i = 0; i < 100; ++i) {
    queue.add(i, kQuery, {200});
    if (!queue.take_before(bulk, i).empty()) tokens += queue.batch.tokens;
  }
  EXPECT_GE(tokens, 9 * 250);
  EXPECT_LE(tokens, 9 * 250 + 256);
}

TEST(Batcher, ShowsWhatWaits) {
  TestQueue queue;
  queue.add(5, kImport, {10, 20});
  queue.add(7, kImport, {30});
  const Batcher::ClassState state = queue.batcher.state(kImport);
  EXPECT_EQ(state.requests, 2U);
  EXPECT_EQ(state.tokens, 60);
  EXPECT_EQ(state.oldest, at_ms(5));
  EXPECT_EQ(queue.batcher.state(kQuery).oldest, std::nullopt);
}

// Whatever comes, every text is given out exactly once or dropped with its request, and no batch breaks the limits.
TEST(Batcher, LosesNothingUnderRandomLoads) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    const BatchLimits limits = {.max_batch_tokens = 16 + below(300),
                                .max_batch_requests = below(2) * (1 + below(20)),
                                .max_interactive_tokens = 16 + below(300),
                                .lanes = 1 + below(4),
                                .max_queue_delay = {{{}, {}, std::chrono::milliseconds(below(20))}}};
    TestQueue queue(limits);
    std::vector<std::unique_ptr<std::atomic<bool>>> flags;
    std::map<const QueuedRequest*, std::set<uint32_t>> given;
    std::set<const QueuedRequest*> dropped;
    Batch running;
    for (int step = 0; step < 2000; ++step) {
      const bool is_arriving = step < 1500;
      if (is_arriving && below(2) == 0) {
        flags.push_back(std::make_unique<std::atomic<bool>>(false));
        std::vector<int> lengths(below(10) == 0 ? 1 + below(60) : 1);
        for (int& length : lengths) length = 1 + below(below(8) == 0 ? 512 : 40);
        Extra extra = {.tenant = std::string(1, static_cast<char>('a' + below(5))), .cancelled = flags.back().get()};
        if (below(3) == 0) extra.deadline = at_ms(step + below(200));
        queue.add(step, static_cast<Priority>(below(3)), lengths, extra);
      }
      if (!flags.empty() && below(20) == 0) *flags[below(static_cast<int>(flags.size()))] = true;
      const bool interrupts = below(3) == 0 && !running.empty();
      if (interrupts)
        queue.take_before(running, step);
      else
        queue.take(step, 1 + below(limits.lanes));
      for (const Batch::Dropped& drop : queue.batch.dropped) ASSERT_TRUE(dropped.insert(drop.request).second);
      if (queue.batch.empty()) continue;
      int tokens = 0;
      for (const Batch::Item& item : queue.batch.items) {
        ASSERT_EQ(item.request->priority, queue.batch.priority);
        ASSERT_EQ(item.request->is_large, queue.batch.is_large);
        ASSERT_FALSE(item.request->deadline && *item.request->deadline <= at_ms(step));
        ASSERT_TRUE(given[item.request].insert(item.text).second);
        for (const QueuedText& text : item.request->texts) tokens += text.index == item.text ? text.tokens : 0;
      }
      ASSERT_EQ(tokens, queue.batch.tokens);
      ASSERT_TRUE(tokens <= limits.max_batch_tokens || queue.batch.items.size() == 1);
      ASSERT_TRUE(limits.max_batch_requests == 0 || static_cast<int>(queue.batch.items.size()) <= limits.max_batch_requests);
      ASSERT_TRUE(!interrupts || queue.batch.priority <= running.priority);
      if (!interrupts) running = queue.batch;
    }
    while (!queue.take(100000).empty()) {
      for (const Batch::Item& item : queue.batch.items) ASSERT_TRUE(given[item.request].insert(item.text).second);
    }
    EXPECT_TRUE(queue.batcher.empty());
    for (const Batch::Dropped& drop : queue.batch.dropped) ASSERT_TRUE(dropped.insert(drop.request).second);
    for (const QueuedRequest& request : queue.requests) {
      const size_t left = request.end - request.begin;
      EXPECT_EQ(given[&request].size() + left, request.texts.size());
      EXPECT_EQ(left > 0, dropped.count(&request) > 0);
    }
  }
}

}  // namespace
}  // namespace inlay
