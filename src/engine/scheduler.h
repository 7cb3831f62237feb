// Decides which waiting texts run next, and runs them on lanes. Many threads submit; one scheduler serves them all.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/priority.h"
#include "engine/scheduler_metrics.h"

namespace inlay {

// One client's request: one or many texts that were tokenised already.
struct WorkRequest {
  std::vector<TokenizedText> texts;
  Priority priority = Priority::kStandard;
  std::string tenant;                            // fairness is between tenants
  std::optional<Clock::time_point> deadline;     // texts not started by then get kUnavailable
  std::shared_ptr<std::atomic<bool>> cancelled;  // set by the submitter when the client has gone; may be null
};

// Result i belongs to texts[i]: its vector of dimensions() numbers (none if it asks for no vector), or that text's own error.
struct WorkResult {
  std::vector<Result<std::vector<float>>> vectors;
  std::vector<TextOutput> outputs;     // what else the texts ask for, by text; empty if none asks for more than its vector
  std::chrono::nanoseconds queued{0};  // from submit to the start of the first text
  std::chrono::nanoseconds computed{0};
};

struct SchedulerOptions {
  int max_batch_tokens = 0;           // 0: the engine's choice
  int max_batch_requests = 0;         // texts in a batch; 0: no limit
  int max_concurrent_requests = 512;  // admitted and not yet answered
  int64_t max_queue_tokens = 1 << 20;
  std::chrono::microseconds max_queue_delay[3] = {std::chrono::microseconds(0), std::chrono::microseconds(0),
                                                  std::chrono::microseconds(5000)};  // by class
  // Share of the tokens that a waiting class gets at least, by class; the first is not used.
  double min_share[3] = {0, 0.1, 0.1};
};

// Why a request was not taken, and when to come back, from the predicted time to drain the queue.
struct Overload {
  std::string reason;
  std::chrono::milliseconds retry_after{0};  // 0 for kTooLarge: the request never fits
  Rejection kind = Rejection::kQueueFull;
};

class BatchRunner;
struct SchedulerCore;

class Scheduler {
 public:
  // `engine` must outlive the scheduler. Starts one lane a thread of the engine.
  Scheduler(const Engine& engine, const SchedulerOptions& options);
  // Runs on something else than an engine.
  Scheduler(std::unique_ptr<BatchRunner> runner, const SchedulerOptions& options);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  // Stops taking requests, finishes what was admitted, joins.
  ~Scheduler();

  // One decision for the whole request: admitted (then `done` is called exactly once, on a lane's thread; it must be short and
  // not throw), or an Overload and `done` is never called. Thread-safe; never blocks on compute.
  std::optional<Overload> submit(WorkRequest request, std::function<void(WorkResult)> done);

  // From now on submit() answers kUnavailable-like Overloads; returns when everything admitted has been answered or `limit` has
  // passed.
  bool drain(std::chrono::milliseconds limit);

  // Thread-safe; takes a lock that lanes need, for some microseconds.
  SchedulerMetrics metrics() const;

 private:
  std::unique_ptr<SchedulerCore> core_;
};

}  // namespace inlay
