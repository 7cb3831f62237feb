// Threads that work together. Idle threads sleep: a team that has nothing to do costs no CPU time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/own_cores.h"

namespace inlay {

// Meeting point of a fixed number of threads. Waits by spinning shortly, then by sleeping in the kernel.
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  // Returns once all `size` threads have arrived; what they wrote before is then visible to all.
  void wait();

 private:
  const int size_;
  std::atomic<int> arrived_ = 0;
  std::atomic<uint32_t> round_ = 0;
};

// The part of a common job that one thread has: it is number `rank` of `size`.
struct Share {
  int rank = 0;
  int size = 1;
  Barrier* barrier = nullptr;  // null when alone
  // What to call between blocks of work of a millisecond or less, at points where all state of the job lies in its own memory,
  // so that more urgent work can run in between; null if there is nothing. Only for a job of one thread.
  const std::function<void()>* between_blocks = nullptr;

  void sync() const {
    if (barrier != nullptr) barrier->wait();
  }
  void give_way() const {
    if (between_blocks != nullptr) (*between_blocks)();
  }
  // The thread's part of `count` items, in whole groups of `group` but for the last.
  struct Range {
    int begin, end;
  };
  Range part_of(int count, int group = 1) const {
    const int64_t groups = (static_cast<int64_t>(count) + group - 1) / group;
    const int64_t begin = groups * rank / size * group;
    const int64_t end = groups * (rank + 1) / size * group;
    return {static_cast<int>(begin), static_cast<int>(end < count ? end : count)};
  }
};

// `size` threads, the caller of run() among them, that all call the same function, each with its share.
class Team {
 public:
  explicit Team(int size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  int size() const { return size_; }
  // Calls job(share) on every thread and returns when all have returned. The shares have a common barrier. Callers from several
  // threads take turns. `job` must not throw.
  void run(const std::function<void(const Share&)>& job);

 private:
  void work(int rank);

  const int size_;
  std::mutex turn_;
  Barrier barrier_;
  OwnCores cores_;
  const std::function<void(const Share&)>* job_ = nullptr;
  std::atomic<uint32_t> generation_ = 0;  // counts jobs; odd numbers do not matter, only change does
  std::atomic<int> running_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace inlay
