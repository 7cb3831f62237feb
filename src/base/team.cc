#include "base/team.h"

#include <chrono>

#include "base/check.h"

namespace inlay {
namespace {

// A layer of a small batch takes some 20 to 100 microseconds, so partners arrive within about that; sleeping and waking costs
// as much. Longer spinning would burn a core for nothing.
constexpr std::chrono::microseconds kSpin(50);
constexpr int kPausesPerLook = 32;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

template <class T>
void wait_while_equal(const std::atomic<T>& value, T old) {
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() - begin < kSpin);
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

void Barrier::wait() {
  const uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  wait_while_equal(round_, round);
}

Team::Team(int size) : size_(size), barrier_(size) {
  INLAY_CHECK(size >= 1, "a team has at least its caller");
  for (int rank = 1; rank < size; ++rank) threads_.emplace_back([this, rank] { work(rank); });
}

Team::~Team() {
  stopping_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(const Share&)>& job) {
  const std::lock_guard<std::mutex> turn(turn_);
  if (size_ == 1) return job(Share{});
  job_ = &job;
  const OwnCores::Hold core(cores_);
  running_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  job(Share{0, size_, &barrier_});
  for (int left = running_.load(std::memory_order_acquire); left != 0; left = running_.load(std::memory_order_acquire)) {
    wait_while_equal(running_, left);
  }
}

void Team::work(int rank) {
  for (uint32_t seen = 0;;) {
    wait_while_equal(generation_, seen);
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;
    {
      const OwnCores::Hold core(cores_);
      (*job_)(Share{rank, size_, &barrier_});
    }
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

}  // namespace inlay
