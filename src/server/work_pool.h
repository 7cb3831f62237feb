// A few threads that read requests, tokenise and render, so that the I/O threads never do.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace inlay {

class WorkPool {
 public:
  explicit WorkPool(int threads);
  // Runs what was posted, then joins.
  ~WorkPool();

  // Tasks start in the order they are posted. They must not throw. Any thread, tasks included.
  void post(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace inlay
