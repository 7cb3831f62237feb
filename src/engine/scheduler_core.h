// What a scheduler is made of; for the files of this folder only.
//
// Submitters put requests into a lock-free inbox. A lane that is free takes the mutex, moves the inbox into the batcher, takes
// the next batch and runs it outside of the mutex: there is no thread that hands out work. Submitters take the mutex only to
// wake a sleeping lane.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/own_cores.h"
#include "engine/batch_runner.h"
#include "engine/batcher.h"
#include "engine/cost_model.h"
#include "engine/inbox.h"
#include "engine/scheduler.h"
#include "engine/team_policy.h"

namespace inlay {

class Lane;

// A request from its admission to its answer. Owned by the scheduler; the lane that completes it deletes it.
struct PendingRequest : QueuedRequest {
  WorkRequest work;
  std::function<void(WorkResult)> done;
  std::vector<Result<std::vector<float>>> vectors;  // by text, with room for the numbers
  std::vector<TextOutput> outputs;                  // by text, or empty if vectors are all that is wanted
  std::atomic<size_t> left = 0;                     // texts that have no result yet
  std::optional<Clock::time_point> started;         // written under the mutex
  PendingRequest* next_in_inbox = nullptr;
};

// A small batch that idle lanes run together. There is one at a time: what follows belongs to it until its leader is done.
struct TeamJob {
  bool is_running = false;
  Arena* arena = nullptr;
  Barrier* barrier = nullptr;
  int size = 0;
  int seats = 0;  // lanes that have not joined yet
  std::atomic<bool> has_failed = false;
  OwnCores cores;
};

struct SchedulerCore {
  SchedulerCore(std::unique_ptr<BatchRunner> batch_runner, const SchedulerOptions& scheduler_options);
  ~SchedulerCore();

  // For any thread.
  std::optional<Overload> submit(WorkRequest work, std::function<void(WorkResult)> done);
  bool drain(std::chrono::milliseconds limit);
  SchedulerMetrics metrics() const;
  // Gives the request's answer if these were its last texts; it is gone then.
  void complete(PendingRequest& request, size_t texts);

  // For lanes, under the mutex.
  void collect(std::vector<PendingRequest*>& nothing_to_do);
  void note_taken(const Batch& batch, Clock::time_point now);
  void note_ran(const Batch& batch, std::chrono::nanoseconds time);
  void sleep(std::unique_lock<std::mutex>& lock);
  // Calls idle lanes: all of them, into a team for the batch, if that speeds it up; then true. Else one if there is other work.
  bool call_idle_lanes(const Batch& batch, Arena& arena);
  // Whether the batch begins alone beside idle lanes: then team_policy learns from its end.
  bool is_lone(const Batch& batch) const;

  const std::unique_ptr<BatchRunner> runner;
  const SchedulerOptions options;
  const BatchLimits limits;

  Inbox<PendingRequest> inbox;
  std::atomic<uint32_t> arrived = 0;    // kinds of work in the inbox; set after the request is in
  std::atomic<uint32_t> waiting = 0;    // kinds of work in the batcher
  std::atomic<int> idle = 0;            // lanes that sleep; changed under the mutex
  std::atomic<int> admitted = 0;        // requests without an answer, as admission counts them
  std::atomic<int64_t> tokens = 0;      // admitted and not computed
  std::atomic<uint64_t> arrivals = 0;   // requests that came to the inbox
  std::atomic<int64_t> unanswered = 0;  // requests whose `done` has not returned
  std::atomic<bool> is_draining = false;
  std::atomic<double> seconds_per_token = 0;  // of one lane, for the batches of late
  std::array<std::atomic<uint64_t>, kRejections> rejected = {};

  mutable std::mutex mutex;
  std::condition_variable wake;      // of sleeping lanes
  std::condition_variable answered;  // the last request was
  Batcher batcher;
  CostModel cost;
  double mean_tokens = 0;  // of the batches of late
  double mean_squares = 0;
  TeamPolicy team_policy;
  TeamJob team;
  std::vector<std::unique_ptr<Barrier>> barriers;  // by team size
  SchedulerMetrics counters;
  bool is_stopping = false;
  std::vector<std::unique_ptr<Lane>> lanes;

 private:
  std::optional<Rejection> admit(int64_t request_tokens);
  void leave();
  Overload overload(Rejection why, int64_t request_tokens);
  std::chrono::nanoseconds predicted_drain() const;
  std::unique_ptr<PendingRequest> prepare(WorkRequest work, std::function<void(WorkResult)> done);
};

// One thread, and the memory in which it runs batches.
class Lane {
 public:
  Lane(SchedulerCore& core, int index);
  ~Lane();
  void start();

 private:
  // A batch, where it is computed, and its results.
  struct Place {
    std::unique_ptr<Arena> arena;
    Batch batch;
    std::vector<const TokenizedText*> texts;
    std::vector<float> out;               // [texts, dimensions]
    std::vector<Result<>> status;         // by text
    std::chrono::nanoseconds time{0};     // of the whole batch in one go; 0 if it did not run so
    std::optional<uint64_t> alone_since;  // arrivals so far, if it is a lone batch
  };

  void work();
  bool take(Place& place, Batch* running, Clock::time_point now);
  void finish_dropped(Place& place);
  void set_up(Place& place);
  void run_alone(Place& place, const Share& share);
  void run_as_team(Place& place);
  void help(std::unique_lock<std::mutex>& lock);
  void finish(Place& place, size_t first, size_t count);
  void run_each(Place& place, const Error& error);
  Result<> try_run(Place& place, size_t first, size_t count, const Share& share);
  void deliver(Place& place);
  void settle(const Place& place);
  void give_way();
  bool run_urgent();

  SchedulerCore& core_;
  const int index_;
  Place own_;
  Place urgent_;                                // for what interrupts the batch of own_
  std::vector<PendingRequest*> nothing_to_do_;  // requests whose texts all have errors already
  std::function<void()> between_blocks_;
  Clock::time_point next_look_;              // for urgent work
  std::chrono::nanoseconds interrupted_{0};  // by urgent work, since the start
  std::thread thread_;
};

}  // namespace inlay
