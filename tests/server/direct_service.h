// A service without a scheduler: one thread that embeds request after request. For tests.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "server/engine_service.h"

namespace inlay {

class DirectService final : public EngineService {
 public:
  DirectService(Engine loaded, std::string name, const ServingOptions& options, const SchedulerOptions& limits)
      : EngineService(std::move(loaded), std::move(name), options, limits), limit_(limits.max_concurrent_requests) {
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }
  ~DirectService() override {
    thread_.request_stop();
    wake_.notify_all();
  }

  std::optional<Overload> submit(WorkRequest request, std::function<void(WorkResult)> done) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (static_cast<int>(waiting_.size()) + busy_ >= limit_)
      return Overload{"Model is overloaded", std::chrono::milliseconds(50)};
    waiting_.emplace_back(std::move(request), std::move(done));
    wake_.notify_one();
    return std::nullopt;
  }

  bool drain(std::chrono::milliseconds limit) override {
    std::unique_lock<std::mutex> lock(mutex_);
    return idle_.wait_for(lock, limit, [this] { return waiting_.empty() && busy_ == 0; });
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (wake_.wait(lock, [&] { return stop.stop_requested() || !waiting_.empty(); }), !waiting_.empty()) {
      auto [request, done] = std::move(waiting_.front());
      waiting_.pop_front();
      busy_ = 1;
      lock.unlock();
      WorkResult result;
      result.vectors = engine().embed(request.texts);
      done(std::move(result));
      lock.lock();
      busy_ = 0;
      idle_.notify_all();
    }
  }

  int limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::pair<WorkRequest, std::function<void(WorkResult)>>> waiting_;
  int busy_ = 0;
  std::jthread thread_;
};

}  // namespace inlay
