#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>

#include "jobs/tune/load.h"
#include "jobs/validate/quality.h"

namespace inlay {
namespace {

using Nanoseconds = std::chrono::nanoseconds;
// Of the time, not counted: queues fill and clocks settle.
constexpr double kWarmUpShare = 0.2;

Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What came back, from the lanes' threads to the sender.
class Answers {
 public:
  struct Answer {
    Clock::time_point due;  // when the request was to be sent
    Clock::time_point end;
    uint64_t tokens = 0;
  };

  void add(const Answer& answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.push_back(answer);
    changed_.notify_one();
  }

  // Waits until more than `seen` answers are there or `limit` is reached; gives how many there are.
  size_t wait(size_t seen, Clock::time_point limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, limit, [this, seen] { return answers_.size() > seen; });
    return answers_.size();
  }

  // While nothing is under way.
  const std::vector<Answer>& all() const { return answers_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Answer> answers_;
};

// What the scheduler counted between two moments.
struct LaneFigures {
  double busy = 0;  // seconds of all lanes
  double batches = 0;
  double texts = 0;
};

LaneFigures figures_of(const SchedulerMetrics& metrics) {
  LaneFigures figures;
  for (const Nanoseconds busy : metrics.lane_busy) figures.busy += std::chrono::duration<double>(busy).count();
  for (const uint64_t count : metrics.batch_texts.counts) figures.batches += static_cast<double>(count);
  figures.texts = static_cast<double>(metrics.batch_texts.sum);
  return figures;
}

class LoadRun {
 public:
  LoadRun(const Engine& engine, const LoadTexts& texts, const LoadOptions& options)
      : engine_(engine), texts_(texts), options_(options), random_(options.seed), scheduler_(engine, options.scheduler) {}

  Result<LoadPoint> run(const std::function<bool()>& stopped) {
    begin_ = Clock::now();
    counted_from_ = after(begin_, kWarmUpShare * options_.seconds);
    end_ = after(begin_, options_.seconds);
    TRY_VOID(options_.rate > 0 ? send_at_rate(stopped) : send_as_answered(stopped));
    const LaneFigures after_load = figures_of(scheduler_.metrics());
    // One batch may still run; a queue that an overload left behind is not waited for in full.
    if (!scheduler_.drain(std::chrono::milliseconds(20000)))
      return fail(ErrorCode::kInternal, "requests are still under way after 20 s");
    return point(after_load);
  }

 private:
  Result<> send_as_answered(const std::function<bool()>& stopped) {
    for (int client = 0; client < options_.clients; ++client) TRY_VOID(send(Clock::now()));
    size_t seen = 0;
    while (Clock::now() < end_) {
      const size_t answered = answers_.wait(seen, end_);
      mark_warm();
      for (; seen < answered && Clock::now() < end_; ++seen) TRY_VOID(send(Clock::now()));
      if (stopped && stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    }
    return {};
  }

  Result<> send_at_rate(const std::function<bool()>& stopped) {
    double due = 0;
    while (true) {
      const double share = (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0;  // 53 bits: in (0, 1)
      due += -std::log(share) / options_.rate;
      const Clock::time_point at = after(begin_, due);
      if (at >= end_) return {};
      while (Clock::now() < at) answers_.wait(SIZE_MAX, at);
      mark_warm();
      TRY_VOID(send(at));
      if (stopped && stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    }
  }

  Result<> send(Clock::time_point due) {
    WorkRequest request;
    request.priority = options_.priority;
    request.texts.push_back(TRY(texts_.request(engine_, sent_++)));
    const uint64_t tokens = request.texts.front().ids.size();
    const std::optional<Overload> overload = scheduler_.submit(std::move(request), [this, due, tokens](WorkResult) {
      answers_.add({due, Clock::now(), tokens});
    });
    if (!overload) return {};
    if (due >= counted_from_) ++rejected_;
    // A client comes back later; arrivals at a rate are lost.
    if (options_.rate == 0) answers_.add({due, due, 0});
    return {};
  }

  void mark_warm() {
    if (!warm_ && Clock::now() >= counted_from_) warm_ = figures_of(scheduler_.metrics());
  }

  // Of requests that were due from then on, also where the answer came after the end, or the slowest would be left out.
  std::vector<double> latencies_since(Clock::time_point from) const {
    std::vector<double> latencies;
    for (const Answers::Answer& answer : answers_.all()) {
      if (answer.tokens == 0 || answer.due < from) continue;
      latencies.push_back(std::chrono::duration<double>(answer.end - answer.due).count());
    }
    return latencies;
  }

  LoadPoint point(const LaneFigures& after_load) const {
    const double seconds = std::chrono::duration<double>(end_ - counted_from_).count();
    LoadPoint point = {.batch_tokens = options_.scheduler.max_batch_tokens,
                       .queue_delay_us = static_cast<int>(options_.scheduler.max_queue_delay[2].count()),
                       .clients = options_.clients,
                       .rate = options_.rate,
                       .rejected = rejected_};
    for (const Answers::Answer& answer : answers_.all()) {
      if (answer.tokens == 0 || answer.end < counted_from_ || answer.end >= end_) continue;
      point.requests_per_second += 1 / seconds;
      point.tokens_per_second += static_cast<double>(answer.tokens) / seconds;
    }
    std::vector<double> latencies = latencies_since(counted_from_);
    // So slow that what was sent first is all there is.
    if (latencies.empty()) latencies = latencies_since(begin_);
    std::sort(latencies.begin(), latencies.end());
    point.requests = latencies.size();
    point.p50 = percentile(latencies, 0.5);
    point.p99 = percentile(latencies, 0.99);
    if (!warm_) return point;
    point.lane_use = std::min(1.0, (after_load.busy - warm_->busy) / (seconds * engine_.threads()));
    const double batches = after_load.batches - warm_->batches;
    point.batch_texts = batches > 0 ? (after_load.texts - warm_->texts) / batches : 0;
    return point;
  }

  const Engine& engine_;
  const LoadTexts& texts_;
  const LoadOptions& options_;
  std::mt19937_64 random_;
  Answers answers_;
  Clock::time_point begin_;
  Clock::time_point counted_from_;
  Clock::time_point end_;
  std::optional<LaneFigures> warm_;
  size_t sent_ = 0;
  uint64_t rejected_ = 0;
  Scheduler scheduler_;  // the last member, so that it ends first: lanes write to the others
};

}  // namespace

Result<LoadPoint> run_load(const Engine& engine, const LoadTexts& texts, const LoadOptions& options,
                           const std::function<bool()>& stopped) {
  LoadRun run(engine, texts, options);
  return run.run(stopped);
}

}  // namespace inlay
