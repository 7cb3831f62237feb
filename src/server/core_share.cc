#include "server/core_share.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace inlay {
namespace {

using std::chrono::nanoseconds;

// A core is kept for this long at least: giving it up costs two wake-ups, some 50 microseconds each.
constexpr std::chrono::milliseconds kQuantum{2};

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

class SharedArena final : public Arena {
 public:
  SharedArena(CoreShare& cores, CoreShare::Member& member, std::unique_ptr<Arena> arena)
      : cores_(cores), member_(member), arena_(std::move(arena)), between_blocks_([this] { pause(); }) {}

  void begin(std::span<const TokenizedText* const> texts) override { arena_->begin(texts); }
  void end(float* out, std::span<Result<>> status) override { arena_->end(out, status); }
  Result<> collect(int text, TextOutput& output) override { return arena_->collect(text, output); }

  void run(const Share& share) override {
    const Clock::time_point began = Clock::now();
    if (share.size > 1) return run_in_team(share, began);
    // What may not be interrupted interrupts a batch itself, and has that batch's core.
    if (share.between_blocks == nullptr) return arena_->run(share);
    inner_ = share.between_blocks;
    cores_.enter(member_);
    since_ = Clock::now();
    const Leave leave{*this};
    Share shared = share;
    shared.between_blocks = &between_blocks_;
    arena_->run(shared);
  }

 private:
  struct Leave {
    SharedArena& arena;
    ~Leave() { arena.cores_.leave(arena.member_, Clock::now() - arena.since_); }
  };

  // A team is small work on idle lanes. It waits for nobody, since its threads wait for one another; it only pays.
  void run_in_team(const Share& share, Clock::time_point began) {
    arena_->run(share);
    cores_.charge(member_, Clock::now() - began);
  }

  void pause() {
    (*inner_)();
    const nanoseconds time = Clock::now() - since_;
    if (time >= kQuantum && cores_.give_way(member_, time)) since_ = Clock::now();
  }

  CoreShare& cores_;
  CoreShare::Member& member_;
  std::unique_ptr<Arena> arena_;
  const std::function<void()> between_blocks_;
  const std::function<void()>* inner_ = nullptr;  // the lane's own
  Clock::time_point since_;
};

class SharedRunner final : public BatchRunner {
 public:
  SharedRunner(CoreShare& cores, std::unique_ptr<BatchRunner> runner, double weight)
      : cores_(cores), runner_(std::move(runner)), member_(cores.add(weight)) {}
  ~SharedRunner() override { cores_.remove(member_); }

  int lanes() const override { return runner_->lanes(); }
  int dimensions() const override { return runner_->dimensions(); }
  int max_batch_tokens() const override { return runner_->max_batch_tokens(); }
  int max_arena_tokens() const override { return runner_->max_arena_tokens(); }
  Result<> check(const TokenizedText& text) const override { return runner_->check(text); }
  std::unique_ptr<Arena> make_arena(int ranks) const override {
    return std::make_unique<SharedArena>(cores_, *member_, runner_->make_arena(ranks));
  }

 private:
  CoreShare& cores_;
  std::unique_ptr<BatchRunner> runner_;
  CoreShare::Member* member_;
};

}  // namespace

std::unique_ptr<BatchRunner> CoreShare::share(std::unique_ptr<BatchRunner> runner, double weight) {
  return std::make_unique<SharedRunner>(*this, std::move(runner), weight);
}

CoreShare::Member* CoreShare::add(double weight) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return &members_.emplace_back(weight);
}

void CoreShare::remove(Member* member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.remove_if([member](const Member& other) { return &other == member; });
}

void CoreShare::enter(Member& member) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Who was idle has saved nothing up.
  if (member.running == 0 && member.waiting == 0) member.used = std::max(member.used, floor_);
  if (free_ > 0) {  // Then nobody waits.
    --free_;
    ++member.running;
    floor_ = std::max(floor_, member.used);
    return;
  }
  wait(member, lock);
}

void CoreShare::leave(Member& member, nanoseconds time) {
  const std::lock_guard<std::mutex> lock(mutex_);
  member.used += seconds(time) / member.weight;
  --member.running;
  ++free_;
  hand_on();
}

bool CoreShare::give_way(Member& member, nanoseconds time) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return false;
  std::unique_lock<std::mutex> lock(mutex_);
  const Member* next = next_waiting();
  if (next == nullptr || next->used >= member.used + seconds(time) / member.weight) return false;
  member.used += seconds(time) / member.weight;
  --member.running;
  ++free_;
  hand_on();
  wait(member, lock);
  return true;
}

void CoreShare::charge(Member& member, nanoseconds time) {
  const std::lock_guard<std::mutex> lock(mutex_);
  member.used += seconds(time) / member.weight;
}

void CoreShare::wait(Member& member, std::unique_lock<std::mutex>& lock) {
  ++member.waiting;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  member.wake.wait(lock, [&] { return member.granted > 0; });
  --member.granted;
}

CoreShare::Member* CoreShare::next_waiting() {
  Member* best = nullptr;
  for (Member& member : members_) {
    if (member.waiting > 0 && (best == nullptr || member.used < best->used)) best = &member;
  }
  return best;
}

// Gives a free core to who waits for it longest behind.
void CoreShare::hand_on() {
  Member* const next = next_waiting();
  if (next == nullptr) return;
  --free_;
  --next->waiting;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  ++next->running;
  ++next->granted;
  floor_ = std::max(floor_, next->used);
  next->wake.notify_one();
}

}  // namespace inlay
