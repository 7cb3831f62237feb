// Cores that the models of a process share by weight. Each model has a scheduler with a lane for every core; a lane computes
// only while it has a core of this object, so that all models together never run more lanes than there are cores.
//
// The next core goes to the waiting model that has had the least computing time for its weight (start-time fair queueing). A
// long batch gives its core up between two blocks of work when another model is behind: a query of one model waits for some
// milliseconds behind an import into another, whatever the size of the import's batches.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "engine/batch_runner.h"
#include "engine/priority.h"

namespace inlay {

// Thread-safe. Outlives the runners that it made.
class CoreShare {
 public:
  explicit CoreShare(int cores) : free_(cores) {}

  // A runner that computes as `runner` does, on cores of this object. `weight` is above 0.
  std::unique_ptr<BatchRunner> share(std::unique_ptr<BatchRunner> runner, double weight);

  // One model's part. For the runners of share() and for tests.
  struct Member {
    explicit Member(double member_weight) : weight(member_weight) {}
    const double weight;
    double used = 0;  // seconds for its weight
    int running = 0;
    int waiting = 0;
    int granted = 0;  // cores that waiting threads have been given and not yet taken
    std::condition_variable wake;
  };
  Member* add(double weight);
  void remove(Member* member);
  // Waits for a core.
  void enter(Member& member);
  // Gives the core back after `time` on it.
  void leave(Member& member, std::chrono::nanoseconds time);
  // Gives the core to a model that is behind and waits for another, or returns false at once if no model is.
  bool give_way(Member& member, std::chrono::nanoseconds time);
  // Time on cores that were not taken here.
  void charge(Member& member, std::chrono::nanoseconds time);

 private:
  Member* next_waiting();
  void wait(Member& member, std::unique_lock<std::mutex>& lock);
  void hand_on();

  std::mutex mutex_;
  int free_;
  double floor_ = 0;  // what the model that last got a core had used
  std::atomic<int> waiting_ = 0;
  std::list<Member> members_;
};

}  // namespace inlay
