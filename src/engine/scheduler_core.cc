#include "engine/scheduler_core.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"

namespace inlay {
namespace {

constexpr double kMeanRate = 0.05;  // of a batch in the mean of late

BatchLimits limits_for(const BatchRunner& runner, const SchedulerOptions& options) {
  BatchLimits limits;
  const int wanted = options.max_batch_tokens > 0 ? options.max_batch_tokens : runner.max_batch_tokens();
  limits.max_batch_tokens = std::min(wanted, runner.max_arena_tokens());
  if (options.max_batch_tokens == 0) limits.max_interactive_tokens = kInteractiveTokens;
  limits.max_batch_requests = options.max_batch_requests;
  limits.lanes = runner.lanes();
  std::copy_n(options.max_queue_delay, kPriorities, limits.max_queue_delay.begin());
  std::copy_n(options.min_share, kPriorities, limits.min_share.begin());
  return limits;
}

template <class T>
bool add_within(std::atomic<T>& counter, T amount, T limit) {
  T value = counter.load(std::memory_order_relaxed);
  do {
    if (value + amount > limit) return false;
  } while (!counter.compare_exchange_weak(value, value + amount, std::memory_order_relaxed));
  return true;
}

}  // namespace

SchedulerCore::SchedulerCore(std::unique_ptr<BatchRunner> batch_runner, const SchedulerOptions& scheduler_options)
    : runner(std::move(batch_runner)), options(scheduler_options), limits(limits_for(*runner, options)), batcher(limits) {
  const int count = runner->lanes();
  counters.lane_busy.resize(count);
  seconds_per_token = cost.predict(limits.max_batch_tokens, 0) / limits.max_batch_tokens;
  for (int size = 0; size <= count; ++size) barriers.push_back(std::make_unique<Barrier>(size));
  for (int index = 0; index < count; ++index) lanes.push_back(std::make_unique<Lane>(*this, index));
  for (const std::unique_ptr<Lane>& lane : lanes) lane->start();
}

SchedulerCore::~SchedulerCore() {
  is_draining.store(true);
  {
    std::unique_lock<std::mutex> lock(mutex);
    answered.wait(lock, [this] { return unanswered.load() == 0; });
    is_stopping = true;
  }
  wake.notify_all();
  lanes.clear();
}

std::optional<Overload> SchedulerCore::submit(WorkRequest work, std::function<void(WorkResult)> done) {
  int64_t request_tokens = 0;
  for (const TokenizedText& text : work.texts) request_tokens += static_cast<int64_t>(text.ids.size());
  if (const std::optional<Rejection> why = admit(request_tokens)) return overload(*why, request_tokens);
  std::unique_ptr<PendingRequest> request;
  try {
    request = prepare(std::move(work), std::move(done));
  } catch (...) {
    tokens.fetch_sub(request_tokens);
    admitted.fetch_sub(1);
    leave();
    throw;
  }
  tokens.fetch_sub(request_tokens - request->tokens);  // of texts that have an error already
  const uint32_t kind =
      request->texts.empty() ? 0 : Batcher::kind(request->priority, request->tokens > limits.max_batch_tokens);
  inbox.push(*request.release());
  arrivals.fetch_add(1, std::memory_order_relaxed);
  arrived.fetch_or(kind);
  if (idle.load() == 0) return std::nullopt;
  // A lane that is about to sleep has looked into the inbox and holds the mutex until it sleeps.
  { const std::lock_guard<std::mutex> lock(mutex); }
  wake.notify_one();
  return std::nullopt;
}

std::unique_ptr<PendingRequest> SchedulerCore::prepare(WorkRequest work, std::function<void(WorkResult)> done) {
  std::unique_ptr<PendingRequest> request = std::make_unique<PendingRequest>();
  const size_t dimensions = static_cast<size_t>(runner->dimensions());
  std::vector<QueuedText> runnable;
  runnable.reserve(work.texts.size());
  request->vectors.reserve(work.texts.size());
  const auto wants_more = [](const TokenizedText& text) {
    return text.outputs != OutputSet{OutputKind::kVector} || !text.chunks.empty();
  };
  if (std::any_of(work.texts.begin(), work.texts.end(), wants_more)) request->outputs.resize(work.texts.size());
  for (size_t i = 0; i < work.texts.size(); ++i) {
    if (Result<> checked = runner->check(work.texts[i]); !checked) {
      request->vectors.emplace_back(tl::unexpected<Error>(std::move(checked).error()));
      continue;
    }
    request->vectors.emplace_back(std::vector<float>(work.texts[i].outputs.has(OutputKind::kVector) ? dimensions : 0));
    runnable.push_back({static_cast<uint32_t>(i), static_cast<int>(work.texts[i].ids.size())});
  }
  request->left = runnable.size();
  request->set_texts(std::move(runnable));
  request->priority = work.priority;
  request->tenant = std::move(work.tenant);
  request->deadline = work.deadline;
  request->cancelled = work.cancelled.get();
  request->arrival = Clock::now();
  request->work = std::move(work);
  request->done = std::move(done);
  return request;
}

// Counts the request in, or says why not.
std::optional<Rejection> SchedulerCore::admit(int64_t request_tokens) {
  unanswered.fetch_add(1);
  std::optional<Rejection> why;
  if (is_draining.load()) {
    why = Rejection::kDraining;
  } else if (request_tokens > options.max_queue_tokens) {
    why = Rejection::kTooLarge;
  } else if (!add_within(admitted, 1, options.max_concurrent_requests)) {
    why = Rejection::kTooManyRequests;
  } else if (!add_within(tokens, request_tokens, options.max_queue_tokens)) {
    admitted.fetch_sub(1);
    why = Rejection::kQueueFull;
  }
  if (why) leave();
  return why;
}

void SchedulerCore::leave() {
  if (unanswered.fetch_sub(1) > 1 || !is_draining.load()) return;
  { const std::lock_guard<std::mutex> lock(mutex); }
  answered.notify_all();
}

Overload SchedulerCore::overload(Rejection why, int64_t request_tokens) {
  rejected[static_cast<int>(why)].fetch_add(1, std::memory_order_relaxed);
  Overload result;
  result.kind = why;
  result.retry_after = std::chrono::ceil<std::chrono::milliseconds>(predicted_drain());
  switch (why) {
    case Rejection::kTooManyRequests:
      result.reason = fmt::format("{} requests are waiting or running, which is the limit", options.max_concurrent_requests);
      break;
    case Rejection::kQueueFull:
      result.reason = fmt::format("{} tokens are waiting; with {} more they would exceed the limit of {}", tokens.load(),
                                  request_tokens, options.max_queue_tokens);
      break;
    case Rejection::kTooLarge:
      result.reason =
          fmt::format("the request has {} tokens, the queue takes at most {}", request_tokens, options.max_queue_tokens);
      result.retry_after = std::chrono::milliseconds(0);
      break;
    case Rejection::kDraining: result.reason = "the server is shutting down"; break;
  }
  return result;
}

std::chrono::nanoseconds SchedulerCore::predicted_drain() const {
  const double seconds = static_cast<double>(tokens.load()) * seconds_per_token.load() / limits.lanes;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

bool SchedulerCore::drain(std::chrono::milliseconds limit) {
  is_draining.store(true);
  std::unique_lock<std::mutex> lock(mutex);
  return answered.wait_for(lock, limit, [this] { return unanswered.load() == 0; });
}

SchedulerMetrics SchedulerCore::metrics() const {
  const std::lock_guard<std::mutex> lock(mutex);
  SchedulerMetrics result = counters;
  const Clock::time_point now = Clock::now();
  for (int c = 0; c < kPriorities; ++c) {
    const Batcher::ClassState state = batcher.state(static_cast<Priority>(c));
    result.waiting[c] = {.requests = state.requests, .tokens = state.tokens, .oldest = now - state.oldest.value_or(now)};
  }
  for (int i = 0; i < kRejections; ++i) result.rejected[i] = rejected[i].load(std::memory_order_relaxed);
  result.cost = cost.coefficients();
  result.predicted_drain = predicted_drain();
  return result;
}

void SchedulerCore::complete(PendingRequest& request, size_t texts) {
  if (request.left.fetch_sub(texts, std::memory_order_acq_rel) != texts) return;
  const std::unique_ptr<PendingRequest> owner(&request);
  const Clock::time_point now = Clock::now();
  const Clock::time_point started = request.started.value_or(now);
  WorkResult result = {.vectors = std::move(request.vectors),
                       .outputs = std::move(request.outputs),
                       .queued = started - request.arrival,
                       .computed = now - started};
  admitted.fetch_sub(1);  // before the answer: whoever gets it may send the next request at once
  try {
    request.done(std::move(result));
  } catch (const std::exception& error) {
    spdlog::error("the receiver of a result threw: {}", error.what());
  } catch (...) {
    spdlog::error("the receiver of a result threw");
  }
  leave();
}

void SchedulerCore::collect(std::vector<PendingRequest*>& nothing_to_do) {
  arrived.store(0);
  for (PendingRequest* request = inbox.take_all(); request != nullptr;) {
    PendingRequest* const next = request->next_in_inbox;
    if (request->texts.empty())
      nothing_to_do.push_back(request);
    else
      batcher.add(*request);
    request = next;
  }
}

void SchedulerCore::note_taken(const Batch& batch, Clock::time_point now) {
  waiting.store(batcher.waiting_kinds());
  for (const Batch::Item& item : batch.items) {
    std::optional<Clock::time_point>& started = static_cast<PendingRequest*>(item.request)->started;
    if (!started) started = now;
  }
  for (const Batch::Dropped& dropped : batch.dropped) {
    (dropped.is_expired ? counters.expired : counters.cancelled) += dropped.request->end - dropped.request->begin;
  }
  if (batch.empty()) return;
  counters.batch_tokens.add(static_cast<uint64_t>(batch.tokens));
  counters.batch_texts.add(batch.items.size());
}

void SchedulerCore::note_ran(const Batch& batch, std::chrono::nanoseconds time) {
  cost.observe(batch.tokens, batch.squares, std::chrono::duration<double>(time).count());
  const double rate = mean_tokens == 0 ? 1 : kMeanRate;
  mean_tokens += rate * (batch.tokens - mean_tokens);
  mean_squares += rate * (static_cast<double>(batch.squares) - mean_squares);
  seconds_per_token = cost.predict(std::llround(mean_tokens), std::llround(mean_squares)) / mean_tokens;
}

void SchedulerCore::sleep(std::unique_lock<std::mutex>& lock) {
  idle.fetch_add(1);
  if (inbox.empty()) {
    if (const std::optional<Clock::time_point> due = batcher.next_due())
      wake.wait_until(lock, *due);
    else
      wake.wait(lock);
  }
  idle.fetch_sub(1);
}

bool SchedulerCore::call_idle_lanes(const Batch& batch, Arena& arena) {
  const int helpers = idle.load();
  if (helpers > 0 && !batcher.empty()) wake.notify_one();
  if (team.is_running || !is_lone(batch) || !team_policy.wants_team()) return false;
  team.is_running = true;
  team.arena = &arena;
  team.size = helpers + 1;
  team.seats = helpers;
  team.barrier = barriers[team.size].get();
  team.has_failed.store(false);
  ++counters.team_batches;
  wake.notify_all();
  return true;
}

bool SchedulerCore::is_lone(const Batch& batch) const {
  if (idle.load() == 0 || !batcher.empty()) return false;
  return team_policy.is_candidate(batch, cost.predict(batch.tokens, batch.squares));
}

}  // namespace inlay
