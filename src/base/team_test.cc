#include "base/team.h"

#include <gtest/gtest.h>

#include <ctime>

#include <chrono>
#include <numeric>

namespace inlay {
namespace {

TEST(Share, PartsCoverEverythingOnce) {
  for (const int count : {0, 1, 3, 7, 16, 31, 384}) {
    for (const int group : {1, 2, 8}) {
      for (const int size : {1, 2, 3, 5}) {
        int next = 0;
        for (int rank = 0; rank < size; ++rank) {
          const Share::Range range = Share{rank, size, nullptr}.part_of(count, group);
          EXPECT_EQ(range.begin < range.end ? range.begin : next, next);
          if (range.begin < range.end) next = range.end;
        }
        EXPECT_EQ(next, count) << group << " " << size;
      }
    }
  }
}

TEST(Team, EveryThreadSeesWhatTheOthersWroteBeforeTheBarrier) {
  for (const int size : {1, 2, 4}) {
    Team team(size);
    for (int round = 0; round < 200; ++round) {
      std::vector<int> written(size, -1);
      std::vector<int> sums(size, 0);
      team.run([&](const Share& share) {
        for (int step = 0; step < 5; ++step) {
          written[share.rank] = round + step;
          share.sync();
          sums[share.rank] = std::accumulate(written.begin(), written.end(), 0);
          share.sync();
        }
      });
      for (const int sum : sums) ASSERT_EQ(sum, (round + 4) * size);
    }
  }
}

TEST(Team, CallersFromSeveralThreadsTakeTurns) {
  Team team(2);
  int counter = 0;  // Only rank 0 touches it, and only one job runs at a time.
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        team.run([&](const Share& share) {
          if (share.rank == 0) ++counter;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(counter, 400);
}

TEST(Team, CostsNothingWhenIdle) {
  Team team(4);
  team.run([](const Share&) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(busy, 0.02);
}

}  // namespace
}  // namespace inlay
