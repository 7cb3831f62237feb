// Chooses which waiting texts run next. A pure state machine: no thread, clock, metric or engine inside, and `now` is an
// argument, so that tests and the simulator need no sleeping.
//
// Order of choice: class (interactive, standard, bulk; a class that waits is owed a least share), then tenant (deficit round
// robin, cost in tokens), then small or large requests of that tenant by turns (so that a query does not wait for a list), then
// the earliest deadline, then the longest text. A batch holds texts of one class and of one size kind: a query is not slowed by
// what fills its batch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/intrusive_list.h"
#include "engine/priority.h"

namespace inlay {

// Short texts are computed no faster in larger batches than this: measured from 12 to 256 tokens on models of 6 and 12 layers.
inline constexpr int kInteractiveTokens = 128;

struct BatchLimits {
  int max_batch_tokens = 256;  // a longer text runs alone
  int max_batch_requests = 0;  // texts in a batch; 0: no limit
  // Of batches of kInteractive ones, if less: whoever waits for a larger batch waits longer.
  int max_interactive_tokens = 1 << 30;
  // A shallow queue is shared among this many lanes, down to batches of min_batch_tokens: fewer rows use the kernels badly.
  // Among lanes that are idle it is shared down to single texts: they have nothing better to do.
  int lanes = 1;
  int min_batch_tokens = 16;
  // How long the oldest request of a class may wait for its batch to fill. Shrinks to 0 as the queue approaches a full batch.
  std::array<std::chrono::nanoseconds, kPriorities> max_queue_delay = {};
  // Share of the tokens that a waiting class gets at least, whatever more urgent classes ask for. Only for kStandard and kBulk.
  std::array<double, kPriorities> min_share = {0, 0.1, 0.1};
  // Requests without a deadline are ordered as if it were this long after their arrival.
  std::chrono::nanoseconds horizon = std::chrono::seconds(10);
};

struct TenantQueue;

struct QueuedText {
  uint32_t index = 0;  // in the caller's request
  int tokens = 0;      // 1 or more
};

// One request as the batcher sees it. The caller owns it, and keeps it in place until its last text was given out or dropped.
struct QueuedRequest {
  // Sorts `texts`, longest first, so that texts of similar length run together and the last batches are small ones.
  void set_texts(std::vector<QueuedText> list);

  // Set by the caller.
  Priority priority = Priority::kStandard;
  std::string tenant;
  Clock::time_point arrival;
  std::optional<Clock::time_point> deadline;
  const std::atomic<bool>* cancelled = nullptr;  // may be null; set by others at any time

  // The batcher's own.
  std::vector<QueuedText> texts;
  uint32_t begin = 0;  // texts [begin, end) wait
  uint32_t end = 0;
  int64_t tokens = 0;  // of the texts that wait
  Clock::time_point due;
  bool is_large = false;  // must be split over batches
  TenantQueue* queue = nullptr;
  ListLinks<QueuedRequest> in_flow;     // by due time
  ListLinks<QueuedRequest> in_arrival;  // by arrival
};

// What a tenant has waiting in one class.
struct TenantQueue {
  IntrusiveList<QueuedRequest, &QueuedRequest::in_flow> flows[2];  // small and large requests, each by due time
  int64_t served[2] = {};                                          // tokens, comparable while both flows wait
  int64_t deficit = 0;                                             // tokens that the turn still allows; may end below 0
  bool is_in_turn = false;
  ListLinks<TenantQueue> in_ring;

  // The flow whose turn it is: 0 small, 1 large.
  int next_flow() const;
};

// Texts to run together, and requests that will not run any further. Reused, so that taking a batch allocates nothing.
struct Batch {
  struct Item {
    QueuedRequest* request = nullptr;
    uint32_t text = 0;  // QueuedText::index
  };
  struct Dropped {
    QueuedRequest* request = nullptr;  // its texts [begin, end) did not run; the batcher has forgotten it
    bool is_expired = false;           // else it was cancelled
  };

  std::vector<Item> items;
  std::vector<Dropped> dropped;
  int tokens = 0;
  int64_t squares = 0;  // sum of the squared lengths
  Priority priority = Priority::kStandard;
  bool is_large = false;
  int64_t interrupted_tokens = 0;  // of batches that ran before this one was finished

  bool empty() const { return items.empty(); }
  void clear();
};

// Not thread-safe. All bookkeeping is per request, none per text.
class Batcher {
 public:
  explicit Batcher(const BatchLimits& limits) : limits_(limits), quantum_(limits.max_batch_tokens) {}
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // `request` has at least one text. Requests come in the order of their arrival.
  void add(QueuedRequest& request);

  // Fills `batch` with what should run now; no items if nothing is due. `batch.dropped` may be filled even then. `idle_lanes`
  // have nothing to run, the one that asks among them: each should find its share.
  void take(Clock::time_point now, Batch& batch, int idle_lanes = 1);

  // Like take, but only what is urgent enough to interrupt `running`: texts of a more urgent class, or small requests of the
  // same class when it is a batch of large ones. Nothing once `running` was delayed so much that its own share is at stake.
  void take_before(Batch& running, Clock::time_point now, Batch& batch);

  // When take() may have something to give or to drop; nothing while the queue is empty. In the past if there is work right
  // now.
  std::optional<Clock::time_point> next_due() const;

  struct ClassState {
    size_t requests = 0;
    int64_t tokens = 0;
    std::optional<Clock::time_point> oldest;  // arrival
  };
  ClassState state(Priority priority) const;
  bool empty() const;

  // Kinds of work that wait, one bit each, the more urgent the lower.
  uint32_t waiting_kinds() const;
  static uint32_t kind(Priority priority, bool is_large) { return 1U << (2 * static_cast<int>(priority) + (is_large ? 1 : 0)); }

 private:
  using Arrivals = IntrusiveList<QueuedRequest, &QueuedRequest::in_arrival>;
  struct ClassQueue {
    std::unordered_map<std::string, TenantQueue> tenants;  // those that wait
    IntrusiveList<TenantQueue, &TenantQueue::in_ring> ring;
    Arrivals arrivals;
    int requests[2] = {};  // small and large
    int64_t tokens = 0;
    int64_t texts = 0;
    double owed = 0;  // tokens of the least share that the class did not get yet
  };
  // A batch in the making.
  struct Filling {
    ClassQueue& queue;
    Batch& batch;
    Clock::time_point now;
    bool small_only = false;
    int idle_lanes = 1;
    int64_t room = std::numeric_limits<int64_t>::max();  // tokens the batch should have
  };

  Clock::time_point due(const ClassQueue& queue) const;
  ClassQueue* choose(Clock::time_point now);
  void fill(Filling filling);
  int64_t share_of(const ClassQueue& queue, int idle_lanes) const;
  bool is_full(const Filling& filling) const;
  bool take_turn(const Filling& filling, TenantQueue& tenant);
  int take_text(const Filling& filling, QueuedRequest& request);
  bool begin_turn(const Filling& filling, TenantQueue& tenant);
  void end_turn(ClassQueue& queue, TenantQueue& tenant);
  void account(const ClassQueue& served, int tokens);
  void drop_dead(Clock::time_point now, Batch& batch);
  bool forget(ClassQueue& queue, QueuedRequest& request);
  int index_of(const ClassQueue& queue) const { return static_cast<int>(&queue - queues_.data()); }

  BatchLimits limits_;
  std::array<ClassQueue, kPriorities> queues_;
  int64_t quantum_;  // tokens of a tenant's turn: a batch, or the longest text so far
  Clock::time_point first_deadline_ = Clock::time_point::max();  // no waiting request has an earlier one
  Clock::time_point next_sweep_;                                 // for requests that were cancelled
};

}  // namespace inlay
