#include "server/core_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace inlay {
namespace {

using std::chrono::milliseconds;

// Computes by waiting, block by block, and counts how many do so at a time.
class FakeArena final : public Arena {
 public:
  FakeArena(std::atomic<int>& running, std::atomic<int>& most) : running_(running), most_(most) {}
  void begin(std::span<const TokenizedText* const>) override {}
  void end(float*, std::span<Result<>>) override {}
  Result<> collect(int, TextOutput&) override { return {}; }
  void run(const Share& share) override {
    ++running_;
    for (int block = 0; block < 10; ++block) {
      int seen = most_.load();
      while (seen < running_ && !most_.compare_exchange_weak(seen, running_)) {
      }
      std::this_thread::sleep_for(milliseconds(1));
      --running_;  // While it gives way it does not run.
      share.give_way();
      ++running_;
    }
    --running_;
  }

 private:
  std::atomic<int>& running_;
  std::atomic<int>& most_;
};

class FakeRunner final : public BatchRunner {
 public:
  FakeRunner(std::atomic<int>& running, std::atomic<int>& most) : running_(running), most_(most) {}
  int lanes() const override { return 2; }
  int dimensions() const override { return 1; }
  int max_batch_tokens() const override { return 8; }
  int max_arena_tokens() const override { return 8; }
  Result<> check(const TokenizedText&) const override { return {}; }
  std::unique_ptr<Arena> make_arena(int) const override { return std::make_unique<FakeArena>(running_, most_); }

 private:
  std::atomic<int>& running_;
  std::atomic<int>& most_;
};

TEST(CoreShare, RunsNoMoreBatchesThanThereAreCores) {
  std::atomic<int> running = 0, most = 0;
  CoreShare cores(2);
  std::vector<std::unique_ptr<BatchRunner>> runners;
  for (int i = 0; i < 3; ++i) runners.push_back(cores.share(std::make_unique<FakeRunner>(running, most), 1));
  std::vector<std::jthread> lanes;
  const std::function<void()> nothing = [] {};
  for (int i = 0; i < 6; ++i) {
    lanes.emplace_back([&, i] {
      const std::unique_ptr<Arena> arena = runners[static_cast<size_t>(i) / 2]->make_arena(2);
      for (int batch = 0; batch < 3; ++batch) arena->run(Share{.between_blocks = &nothing});
    });
  }
  lanes.clear();
  EXPECT_EQ(most, 2);
}

TEST(CoreShare, GivesCoresByWeight) {
  CoreShare cores(1);
  CoreShare::Member* const light = cores.add(1);
  CoreShare::Member* const heavy = cores.add(3);
  std::atomic<int> light_turns = 0, heavy_turns = 0;
  std::atomic<bool> stop = false;
  // Each has two threads, so that it always waits for its next turn.
  const auto work = [&](CoreShare::Member* member, std::atomic<int>& turns) {
    while (!stop) {
      cores.enter(*member);
      ++turns;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      cores.leave(*member, milliseconds(1));  // What is charged is not what it took.
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { work(light, light_turns); });
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { work(heavy, heavy_turns); });
  while (light_turns + heavy_turns < 400) std::this_thread::sleep_for(milliseconds(1));
  stop = true;
  threads.clear();
  const double ratio = static_cast<double>(heavy_turns) / light_turns;
  EXPECT_GT(ratio, 2.5);
  EXPECT_LT(ratio, 3.5);
}

TEST(CoreShare, ALongBatchGivesWayToAModelThatIsBehind) {
  CoreShare cores(1);
  CoreShare::Member* const import = cores.add(1);
  CoreShare::Member* const query = cores.add(1);
  cores.enter(*import);
  EXPECT_FALSE(cores.give_way(*import, milliseconds(5)));  // Nobody waits.
  std::atomic<bool> answered = false;
  std::jthread other([&] {
    cores.enter(*query);
    answered = true;
    cores.leave(*query, milliseconds(1));
  });
  for (int i = 0; i < 5000 && !cores.give_way(*import, milliseconds(5)); ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(answered);
  cores.leave(*import, milliseconds(5));
}

TEST(CoreShare, WhoWasIdleHasSavedNothingUp) {
  CoreShare cores(1);
  CoreShare::Member* const busy = cores.add(1);
  CoreShare::Member* const idle = cores.add(1);
  for (int i = 0; i < 100; ++i) {
    cores.enter(*busy);
    cores.leave(*busy, milliseconds(100));
  }
  cores.enter(*idle);
  cores.leave(*idle, milliseconds(1));
  EXPECT_GT(idle->used, 9);
}

}  // namespace
}  // namespace inlay
