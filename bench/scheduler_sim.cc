#include "scheduler_sim.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>

#include "engine/team_policy.h"

namespace inlay {
namespace {

constexpr Clock::time_point kStart{std::chrono::hours(1)};

Clock::time_point point(double seconds) {
  return kStart + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}
double seconds_of(Clock::time_point time) { return std::chrono::duration<double>(time - kStart).count(); }

struct Waiting : QueuedRequest {
  Priority shown_as = Priority::kStandard;
  double sent = 0;
  size_t left = 0;  // texts without a result
  int client = -1;  // which keeps its connections busy
  bool is_dropped = false;
};

struct SimLane {
  Batch own;
  Batch urgent;
  double own_end = 0;
  double began = 0;
  uint64_t stamp = 0;  // of the event that ends `own`; older ones are void since the batch was interrupted
  bool is_busy = false;
  bool is_interrupted = false;
  bool will_look = false;
  std::optional<uint64_t> alone_since;  // arrivals so far, if `own` began alone
};

enum class EventKind : uint8_t { kArrival, kClient, kEnd, kLook, kUrgentEnd, kWake };

struct Event {
  double at = 0;
  uint64_t order = 0;  // events of one time happen in the order of their making
  EventKind kind = EventKind::kWake;
  int index = 0;
  uint64_t stamp = 0;
};
struct Later {
  bool operator()(const Event& a, const Event& b) const { return a.at != b.at ? a.at > b.at : a.order > b.order; }
};

class Simulation {
 public:
  Simulation(const SimLoad& load, const SimMachine& machine, const BatchLimits& limits)
      : load_(load), machine_(machine), batcher_(limits), team_policy_(machine.team_tokens), lanes_(machine.lanes) {}

  SimReport run() {
    for (size_t i = 0; i < load_.requests.size(); ++i) push(load_.requests[i].at, EventKind::kArrival, static_cast<int>(i));
    for (size_t i = 0; i < load_.clients.size(); ++i) {
      for (int n = 0; n < load_.clients[i].connections; ++n) push(0, EventKind::kClient, static_cast<int>(i));
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      handle(event);
      use_idle_lanes();
      plan_looks();
    }
    return finish();
  }

 private:
  void push(double at, EventKind kind, int index = 0, uint64_t stamp = 0) { events_.push({at, ++order_, kind, index, stamp}); }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::kArrival: return arrive(load_.requests[event.index], -1);
      case EventKind::kClient: return send_next(event.index);
      case EventKind::kEnd: return end_own(lanes_[event.index], event.stamp);
      case EventKind::kLook: return look(event.index);
      case EventKind::kUrgentEnd: return end_urgent(event.index);
      case EventKind::kWake: return;
    }
  }

  void send_next(int client) {
    if (now_ >= load_.seconds) return;
    const SimClient& from = load_.clients[client];
    arrive({.at = now_, .priority = from.priority, .tenant = from.tenant, .lengths = from.next_lengths()}, client);
  }

  void arrive(const SimRequest& request, int client) {
    std::unique_ptr<Waiting> waiting = std::make_unique<Waiting>();
    std::vector<QueuedText> texts;
    for (const int length : request.lengths) texts.push_back({static_cast<uint32_t>(texts.size()), length});
    waiting->set_texts(std::move(texts));
    waiting->shown_as = request.priority;
    waiting->priority = machine_.one_class ? Priority::kStandard : request.priority;
    if (!machine_.one_class) waiting->tenant = request.tenant;
    waiting->arrival = point(now_);
    if (request.timeout) waiting->deadline = point(now_ + *request.timeout);
    waiting->sent = now_;
    waiting->left = request.lengths.size();
    waiting->client = client;
    ++arrivals_;
    batcher_.add(*waiting.release());
  }

  // Gives every idle lane what there is to do; the rest is due at a time to come.
  void use_idle_lanes() {
    for (SimLane& lane : lanes_) {
      if (lane.is_busy) continue;
      batcher_.take(point(now_), lane.own, idle_lanes());
      drop(lane.own);
      if (lane.own.empty()) break;
      begin(lane);
    }
    const bool has_idle = idle_lanes() > 0;
    const std::optional<Clock::time_point> due = batcher_.next_due();
    if (!has_idle || !due || (next_wake_ > now_ && next_wake_ <= seconds_of(*due))) return;
    next_wake_ = std::max(seconds_of(*due), now_ + 1e-6);
    push(next_wake_, EventKind::kWake);
  }

  void begin(SimLane& lane) {
    double time = cost(lane.own);
    lane.began = now_;
    occupy(lane, time);
    lane.alone_since.reset();
    if (idle_lanes() == 0 || !batcher_.empty() || !team_policy_.is_candidate(lane.own, time)) return;
    lane.alone_since = arrivals_;
    if (!team_policy_.wants_team()) return;
    std::vector<SimLane*> helpers;
    for (SimLane& other : lanes_) {
      if (!other.is_busy) helpers.push_back(&other);
    }
    time /= 1 + machine_.team_efficiency * static_cast<double>(helpers.size());
    occupy(lane, time);
    for (SimLane* helper : helpers) {
      helper->own.clear();
      helper->own.priority = Priority::kInteractive;  // never interrupted
      helper->own.is_large = false;
      occupy(*helper, time);
    }
  }

  void occupy(SimLane& lane, double time) {
    lane.is_busy = true;
    lane.own_end = now_ + time;
    push(lane.own_end, EventKind::kEnd, static_cast<int>(&lane - lanes_.data()), lane.stamp = order_ + 1);
  }

  int idle_lanes() const {
    return static_cast<int>(std::count_if(lanes_.begin(), lanes_.end(), [](const SimLane& lane) { return !lane.is_busy; }));
  }

  double cost(const Batch& batch) {
    ++report_.batches;
    report_.batch_tokens += batch.tokens;
    report_.batch_texts += static_cast<int64_t>(batch.items.size());
    const double time = cost_.predict(batch.tokens, batch.squares);
    report_.busy += time;
    return time;
  }

  void end_own(SimLane& lane, uint64_t stamp) {
    if (stamp != lane.stamp) return;
    lane.is_busy = false;
    if (lane.alone_since) team_policy_.note(arrivals_ != *std::exchange(lane.alone_since, std::nullopt));
    deliver(lane.own);
  }

  // A lane that runs something less urgent than what waits looks up at its next block, unless an idle lane will take it.
  void plan_looks() {
    const uint32_t waiting = batcher_.waiting_kinds();
    if (!machine_.interrupts || waiting == 0) return;
    if (idle_lanes() > 0) return;
    for (SimLane& lane : lanes_) {
      const uint32_t more_urgent = Batcher::kind(lane.own.priority, lane.own.is_large) - 1;
      if (lane.is_interrupted || lane.will_look || (waiting & more_urgent) == 0) continue;
      lane.will_look = true;
      // The little more is against rounding: at the end of a block the next look is a whole block away.
      const double blocks = std::floor((now_ - lane.began) / machine_.block + 1e-3) + 1;
      push(lane.began + blocks * machine_.block, EventKind::kLook, static_cast<int>(&lane - lanes_.data()));
    }
  }

  void look(int index) {
    SimLane& lane = lanes_[index];
    lane.will_look = false;
    if (!lane.is_busy || lane.is_interrupted) return;
    batcher_.take_before(lane.own, point(now_), lane.urgent);
    drop(lane.urgent);
    if (lane.urgent.empty()) return;
    ++report_.interruptions;
    const double time = cost(lane.urgent);
    lane.is_interrupted = true;
    lane.own_end += time;
    push(lane.own_end, EventKind::kEnd, index, lane.stamp = order_ + 1);
    push(now_ + time, EventKind::kUrgentEnd, index);
  }

  void end_urgent(int index) {
    lanes_[index].is_interrupted = false;
    deliver(lanes_[index].urgent);
    look(index);
  }

  void deliver(Batch& batch) {
    for (const Batch::Item& item : batch.items) complete(*static_cast<Waiting*>(item.request), 1);
    batch.items.clear();
  }

  void drop(Batch& batch) {
    for (const Batch::Dropped& dropped : batch.dropped) {
      Waiting& request = *static_cast<Waiting*>(dropped.request);
      const size_t texts = request.end - request.begin;
      report_.classes[static_cast<int>(request.shown_as)].dropped += static_cast<int64_t>(texts);
      request.is_dropped = true;
      complete(request, texts);
    }
    batch.dropped.clear();
  }

  void complete(Waiting& request, size_t texts) {
    request.left -= texts;
    if (request.left > 0) return;
    const std::unique_ptr<Waiting> owner(&request);
    SimReport::ClassReport& report = report_.classes[static_cast<int>(request.shown_as)];
    if (!request.is_dropped) {
      report.latencies.push_back(now_ - request.sent + machine_.request_overhead);
      report.texts += static_cast<int64_t>(request.texts.size());
      for (const QueuedText& text : request.texts) report.tokens += text.tokens;
    }
    report_.seconds = now_;
    if (request.client >= 0) push(now_ + machine_.request_overhead, EventKind::kClient, request.client);
  }

  SimReport finish() {
    for (SimReport::ClassReport& report : report_.classes) std::sort(report.latencies.begin(), report.latencies.end());
    if (report_.seconds > 0) report_.busy /= report_.seconds * machine_.lanes;
    return std::move(report_);
  }

  const SimLoad& load_;
  const SimMachine& machine_;
  const CostModel cost_{machine_.cost};
  Batcher batcher_;
  TeamPolicy team_policy_;
  uint64_t arrivals_ = 0;
  std::vector<SimLane> lanes_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  uint64_t order_ = 0;
  double now_ = 0;
  double next_wake_ = -1;
  SimReport report_;
};

}  // namespace

// The nearest rank.
double SimReport::ClassReport::percentile(double share) const {
  if (latencies.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(latencies.size()));
  return latencies[std::min(latencies.size(), static_cast<size_t>(std::max(rank, 1.0))) - 1];
}

double SimReport::ClassReport::mean() const {
  return latencies.empty() ? 0
                           : std::accumulate(latencies.begin(), latencies.end(), 0.0) / static_cast<double>(latencies.size());
}

SimReport simulate(const SimLoad& load, const SimMachine& machine, const BatchLimits& limits) {
  return Simulation(load, machine, limits).run();
}

}  // namespace inlay
