// Gives threads that work together a core each.
#pragma once

#include <sched.h>

#include <mutex>

namespace inlay {

// The system may run all threads of a team on one core for as long as a small job takes, though other cores are idle: Linux
// wakes a thread on the core of whoever wakes it where cores share no cache and an idle one counts as taken away, as in virtual
// machines. Then they take turns at every barrier: a query on two threads took 7.8 ms in place of 2.7 (int8: 4.6 in place of
// 0.95).
class OwnCores {
 public:
  // Keeps the calling thread on a core while it lives: on its own, or on a free one if another thread of the team has that. If
  // there is none that the thread may use, it stays free to move. Afterwards it may use what it could before.
  class Hold {
   public:
    explicit Hold(OwnCores& cores);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    OwnCores& cores_;
    cpu_set_t allowed_ = {};
    int core_ = -1;  // -1: none
  };

 private:
  int take(const cpu_set_t& allowed);

  std::mutex mutex_;
  cpu_set_t taken_ = {};
};

}  // namespace inlay
