#include <algorithm>

#include "base/log.h"
#include "engine/scheduler_core.h"

namespace inlay {
namespace {

// After urgent work was looked for in vain (another lane took it, or the running batch is owed its time) the lane does not look
// again for this long: blocks can be much shorter.
constexpr std::chrono::microseconds kLookInterval(200);

PendingRequest& pending(QueuedRequest* request) { return *static_cast<PendingRequest*>(request); }

// Runs `step`; what it throws becomes an error.
template <class Step>
Result<> guard(const Step& step) {
  try {
    step();
    return {};
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInternal, "the computation failed: {}", error.what());
  } catch (...) {
    return fail(ErrorCode::kInternal, "the computation failed");
  }
}

}  // namespace

Lane::Lane(SchedulerCore& core, int index) : core_(core), index_(index), between_blocks_([this] { give_way(); }) {
  own_.arena = core.runner->make_arena(core.runner->lanes());
  urgent_.arena = core.runner->make_arena(1);
  // The most texts that a batch can have, of one token each: afterwards batches allocate nothing.
  const size_t texts = static_cast<size_t>(core.limits.max_batch_tokens);
  for (Place* place : {&own_, &urgent_}) {
    place->batch.items.reserve(texts);
    place->texts.reserve(texts);
    place->out.reserve(texts * static_cast<size_t>(core.runner->dimensions()));
    place->status.reserve(texts);
  }
}

Lane::~Lane() {
  if (thread_.joinable()) thread_.join();
}

void Lane::start() {
  thread_ = std::thread([this] { work(); });
}

void Lane::work() {
  std::unique_lock<std::mutex> lock(core_.mutex);
  for (;;) {
    if (core_.team.seats > 0) {
      help(lock);
      continue;
    }
    const Clock::time_point began = Clock::now();
    if (!take(own_, nullptr, began)) {
      if (core_.is_stopping) return;
      core_.sleep(lock);
      continue;
    }
    own_.alone_since.reset();
    if (core_.is_lone(own_.batch)) own_.alone_since = core_.arrivals.load(std::memory_order_relaxed);
    const bool has_team = core_.call_idle_lanes(own_.batch, *own_.arena);
    core_.counters.lane_scheduling += Clock::now() - began;
    lock.unlock();
    finish_dropped(own_);
    set_up(own_);
    if (has_team)
      run_as_team(own_);
    else
      run_alone(own_, Share{.between_blocks = &between_blocks_});
    lock.lock();
    if (has_team) core_.team.is_running = false;
    settle(own_);
    core_.counters.lane_busy[index_] += Clock::now() - began;
    lock.unlock();
    deliver(own_);
    lock.lock();
  }
}

// Takes what should run now, or what should interrupt `running`. False if there is nothing to do at all. Under the mutex.
bool Lane::take(Place& place, Batch* running, Clock::time_point now) {
  core_.collect(nothing_to_do_);
  if (running == nullptr)
    core_.batcher.take(now, place.batch, core_.idle.load() + 1);
  else
    core_.batcher.take_before(*running, now, place.batch);
  core_.note_taken(place.batch, now);
  return !place.batch.empty() || !place.batch.dropped.empty() || !nothing_to_do_.empty();
}

// Answers for the texts that will not run.
void Lane::finish_dropped(Place& place) {
  for (PendingRequest* request : nothing_to_do_) core_.complete(*request, 0);
  nothing_to_do_.clear();
  for (const Batch::Dropped& dropped : place.batch.dropped) {
    PendingRequest& request = pending(dropped.request);
    for (uint32_t i = request.begin; i < request.end; ++i) {
      Result<std::vector<float>>& result = request.vectors[request.texts[i].index];
      if (dropped.is_expired)
        result = fail(ErrorCode::kUnavailable, "the deadline passed before the text could run");
      else
        result = fail(ErrorCode::kCancelled, "the client went away before the text could run");
    }
    core_.tokens.fetch_sub(request.tokens);
    core_.complete(request, request.end - request.begin);
  }
}

void Lane::set_up(Place& place) {
  const size_t count = place.batch.items.size();
  place.texts.clear();
  for (const Batch::Item& item : place.batch.items) place.texts.push_back(&pending(item.request).work.texts[item.text]);
  place.out.resize(count * static_cast<size_t>(core_.runner->dimensions()));
  place.status.assign(count, Result<>());
  place.time = std::chrono::nanoseconds(0);
}

void Lane::run_alone(Place& place, const Share& share) {
  if (place.texts.empty()) return;
  const Clock::time_point began = Clock::now();
  const std::chrono::nanoseconds interrupted_before = interrupted_;
  if (const Result<> ran = try_run(place, 0, place.texts.size(), share); !ran) return run_each(place, ran.error());
  place.time = Clock::now() - began - (interrupted_ - interrupted_before);
}

// The texts of a batch that failed, one by one: only those that fail again get the error.
void Lane::run_each(Place& place, const Error& error) {
  spdlog::error("a batch of {} texts failed: {}", place.texts.size(), error.message);
  if (place.texts.size() == 1) {
    place.status[0] = tl::unexpected<Error>(error);
    return;
  }
  for (size_t i = 0; i < place.texts.size(); ++i) {
    place.status[i] = Result<>();
    if (Result<> ran = try_run(place, i, 1, Share{}); !ran) place.status[i] = std::move(ran);
  }
}

Result<> Lane::try_run(Place& place, size_t first, size_t count, const Share& share) {
  return guard([&] {
    place.arena->begin(std::span<const TokenizedText* const>(place.texts).subspan(first, count));
    place.arena->run(share);
    finish(place, first, count);
  });
}

// Takes what texts [first, first + count) of the batch gave, which are all that the arena ran.
void Lane::finish(Place& place, size_t first, size_t count) {
  float* out = place.out.data() + first * static_cast<size_t>(core_.runner->dimensions());
  place.arena->end(out, std::span<Result<>>(place.status).subspan(first, count));
  for (size_t i = first; i < first + count; ++i) {
    const Batch::Item& item = place.batch.items[i];
    std::vector<TextOutput>& outputs = pending(item.request).outputs;
    if (outputs.empty() || !place.status[i]) continue;
    place.status[i] = place.arena->collect(static_cast<int>(i - first), outputs[item.text]);
  }
}

// The leader's part of a batch that idle lanes share; help() is theirs. All meet at the barrier whatever fails.
void Lane::run_as_team(Place& place) {
  TeamJob& team = core_.team;
  const OwnCores::Hold core(team.cores);
  Result<> ran = guard([&] { place.arena->begin(place.texts); });
  if (!ran) team.has_failed.store(true);
  team.barrier->wait();
  if (ran) ran = guard([&] { place.arena->run(Share{.rank = 0, .size = team.size, .barrier = team.barrier}); });
  if (!ran) team.has_failed.store(true);
  team.barrier->wait();
  const bool has_failed = team.has_failed.load();
  if (!has_failed) ran = guard([&] { finish(place, 0, place.texts.size()); });
  if (!ran || has_failed) run_each(place, ran ? Error{ErrorCode::kInternal, "the computation failed"} : ran.error());
}

void Lane::help(std::unique_lock<std::mutex>& lock) {
  TeamJob& team = core_.team;
  const Clock::time_point began = Clock::now();
  const Share share = {.rank = team.size - team.seats, .size = team.size, .barrier = team.barrier};
  Arena& arena = *team.arena;
  --team.seats;
  lock.unlock();
  {
    const OwnCores::Hold core(team.cores);
    share.sync();
    if (!team.has_failed.load() && !guard([&] { arena.run(share); })) team.has_failed.store(true);
    share.sync();
  }
  lock.lock();
  core_.counters.lane_busy[index_] += Clock::now() - began;
}

// Hands every text's result to its request. Texts of a request follow one another in a batch.
void Lane::deliver(Place& place) {
  core_.tokens.fetch_sub(place.batch.tokens);
  const size_t dimensions = static_cast<size_t>(core_.runner->dimensions());
  const std::vector<Batch::Item>& items = place.batch.items;
  for (size_t first = 0, next = 0; first < items.size(); first = next) {
    PendingRequest& request = pending(items[first].request);
    for (; next < items.size() && items[next].request == &request; ++next) {
      Result<std::vector<float>>& result = request.vectors[items[next].text];
      if (place.status[next])
        std::copy_n(place.out.data() + next * dimensions, result->size(), result->data());
      else
        result = tl::unexpected<Error>(place.status[next].error());
    }
    core_.complete(request, next - first);
  }
}

// What is learnt from a batch that ran; before its texts are answered, so that whoever has an answer finds it counted. Under
// the mutex.
void Lane::settle(const Place& place) {
  for (const Result<>& status : place.status) ++(status ? core_.counters.embedded : core_.counters.failed);
  if (place.time.count() > 0) core_.note_ran(place.batch, place.time);
  if (place.alone_since) core_.team_policy.note(core_.arrivals.load(std::memory_order_relaxed) != *place.alone_since);
}

// Called between blocks of the batch of own_: runs more urgent work in the other arena first.
void Lane::give_way() {
  const uint32_t more_urgent = Batcher::kind(own_.batch.priority, own_.batch.is_large) - 1;
  const uint32_t present = core_.waiting.load(std::memory_order_relaxed) | core_.arrived.load(std::memory_order_relaxed);
  // A lane that sleeps has been called for what arrived.
  if ((present & more_urgent) == 0 || core_.idle.load(std::memory_order_relaxed) > 0) return;
  const Clock::time_point began = Clock::now();
  if (began < next_look_) return;
  while (run_urgent()) {
  }
  next_look_ = Clock::now() + kLookInterval;
  interrupted_ += Clock::now() - began;
}

bool Lane::run_urgent() {
  {
    const std::lock_guard<std::mutex> lock(core_.mutex);
    if (!take(urgent_, &own_.batch, Clock::now())) return false;
    if (!urgent_.batch.empty()) ++core_.counters.interruptions;
  }
  finish_dropped(urgent_);
  set_up(urgent_);
  run_alone(urgent_, Share{});
  {
    const std::lock_guard<std::mutex> lock(core_.mutex);
    settle(urgent_);
  }
  deliver(urgent_);
  return true;
}

}  // namespace inlay
