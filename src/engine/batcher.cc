#include "engine/batcher.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace inlay {
namespace {

// How long the texts of a vanished client may hold their place in the queue. A client that vanishes is dropped at the head of
// the queue in any case.
constexpr std::chrono::milliseconds kSweepInterval(20);

// Small requests may delay a running batch of large ones of their own class by as many tokens as it has: both kinds get half.
constexpr double kLargeShare = 0.5;

bool is_expired(const QueuedRequest& request, Clock::time_point now) { return request.deadline && *request.deadline <= now; }

bool is_cancelled(const QueuedRequest& request) {
  return request.cancelled != nullptr && request.cancelled->load(std::memory_order_relaxed);
}

// Tokens that others may run while a batch of so many is interrupted, when its kind of work is due `share` of all.
int64_t patience(int tokens, double share) {
  return share > 1e-6 ? static_cast<int64_t>(tokens * (1 / share - 1)) : std::numeric_limits<int64_t>::max();
}

}  // namespace

void QueuedRequest::set_texts(std::vector<QueuedText> list) {
  texts = std::move(list);
  std::sort(texts.begin(), texts.end(), [](const QueuedText& a, const QueuedText& b) {
    return a.tokens != b.tokens ? a.tokens > b.tokens : a.index < b.index;
  });
  begin = 0;
  end = static_cast<uint32_t>(texts.size());
  tokens = 0;
  for (const QueuedText& text : texts) tokens += text.tokens;
}

void Batch::clear() {
  items.clear();
  dropped.clear();
  tokens = 0;
  squares = 0;
  interrupted_tokens = 0;
}

int TenantQueue::next_flow() const {
  if (flows[0].empty()) return 1;
  if (flows[1].empty()) return 0;
  return served[0] <= served[1] ? 0 : 1;
}

void Batcher::add(QueuedRequest& request) {
  INLAY_CHECK(!request.texts.empty(), "a request without texts has nothing to wait for");
  ClassQueue& queue = queues_[static_cast<int>(request.priority)];
  const auto [place, is_new] = queue.tenants.try_emplace(request.tenant);
  TenantQueue& tenant = place->second;
  if (is_new) queue.ring.push_back(tenant);
  request.queue = &tenant;
  request.is_large = request.tokens > limits_.max_batch_tokens;
  request.due = request.deadline.value_or(request.arrival + std::chrono::duration_cast<Clock::duration>(limits_.horizon));
  const int kind = request.is_large ? 1 : 0;
  // A flow that wakes up has no claim from the time it slept.
  if (tenant.flows[kind].empty()) tenant.served[kind] = tenant.served[1 - kind];
  QueuedRequest* before = tenant.flows[kind].back();
  while (before != nullptr && before->due > request.due) before = tenant.flows[kind].previous(*before);
  tenant.flows[kind].insert_after(before, request);
  queue.arrivals.push_back(request);
  ++queue.requests[kind];
  queue.tokens += request.tokens;
  queue.texts += request.end - request.begin;
  quantum_ = std::max<int64_t>(quantum_, request.texts.front().tokens);
  if (request.deadline) first_deadline_ = std::min(first_deadline_, *request.deadline);
}

void Batcher::take(Clock::time_point now, Batch& batch, int idle_lanes) {
  batch.clear();
  drop_dead(now, batch);
  // A chosen class gives nothing only if what waited in it died since the last sweep. It is dropped by then, so this ends.
  while (ClassQueue* queue = choose(now)) {
    fill({.queue = *queue, .batch = batch, .now = now, .idle_lanes = idle_lanes});
    if (batch.empty()) continue;
    account(*queue, batch.tokens);
    return;
  }
}

void Batcher::take_before(Batch& running, Clock::time_point now, Batch& batch) {
  batch.clear();
  drop_dead(now, batch);
  const int running_class = static_cast<int>(running.priority);
  for (int c = 0; c <= running_class; ++c) {
    const bool is_same = c == running_class;
    if (is_same && !running.is_large) return;
    const int64_t allowed = patience(running.tokens, is_same ? kLargeShare : limits_.min_share[running_class]);
    ClassQueue& queue = queues_[c];
    if (running.interrupted_tokens >= allowed || queue.arrivals.empty() || due(queue) > now) continue;
    fill({.queue = queue, .batch = batch, .now = now, .small_only = is_same, .room = allowed - running.interrupted_tokens});
    if (batch.empty()) continue;
    running.interrupted_tokens += batch.tokens;
    account(queue, batch.tokens);
    return;
  }
}

std::optional<Clock::time_point> Batcher::next_due() const {
  if (empty()) return std::nullopt;
  Clock::time_point first = first_deadline_;
  for (const ClassQueue& queue : queues_) {
    if (!queue.arrivals.empty()) first = std::min(first, due(queue));
  }
  return first;
}

Batcher::ClassState Batcher::state(Priority priority) const {
  const ClassQueue& queue = queues_[static_cast<int>(priority)];
  ClassState state = {.requests = queue.arrivals.size(), .tokens = queue.tokens, .oldest = std::nullopt};
  if (!queue.arrivals.empty()) state.oldest = queue.arrivals.front()->arrival;
  return state;
}

uint32_t Batcher::waiting_kinds() const {
  uint32_t kinds = 0;
  for (const ClassQueue& queue : queues_) {
    const Priority priority = static_cast<Priority>(index_of(queue));
    if (queue.requests[0] > 0) kinds |= kind(priority, false);
    if (queue.requests[1] > 0) kinds |= kind(priority, true);
  }
  return kinds;
}

bool Batcher::empty() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const ClassQueue& queue) { return queue.arrivals.empty(); });
}

// The delay shrinks in proportion to how full a batch would be: a full one is due at once.
Clock::time_point Batcher::due(const ClassQueue& queue) const {
  double fill = static_cast<double>(queue.tokens) / limits_.max_batch_tokens;
  if (limits_.max_batch_requests > 0) fill = std::max(fill, static_cast<double>(queue.texts) / limits_.max_batch_requests);
  const std::chrono::duration<double, std::nano> delay = limits_.max_queue_delay[index_of(queue)] * std::max(0.0, 1 - fill);
  return queue.arrivals.front()->arrival + std::chrono::duration_cast<Clock::duration>(delay);
}

Batcher::ClassQueue* Batcher::choose(Clock::time_point now) {
  const auto is_due = [&](const ClassQueue& queue) { return !queue.arrivals.empty() && due(queue) <= now; };
  for (int c = kPriorities - 1; c > 0; --c) {
    const double batch = static_cast<double>(std::min<int64_t>(queues_[c].tokens, limits_.max_batch_tokens));
    if (limits_.min_share[c] > 0 && queues_[c].owed >= batch && is_due(queues_[c])) return &queues_[c];
  }
  for (ClassQueue& queue : queues_) {
    if (is_due(queue)) return &queue;
  }
  return nullptr;
}

// Passes round the ring of tenants until the batch has its tokens or nobody has a text that fits. A tenant that is passed over,
// because its next text does not fit or is of the other size kind, keeps its place for the next batch.
void Batcher::fill(Filling filling) {
  ClassQueue& queue = filling.queue;
  filling.room = std::min(filling.room, share_of(queue, filling.idle_lanes));
  filling.batch.priority = static_cast<Priority>(index_of(queue));
  for (bool has_changed = true; has_changed && !is_full(filling);) {
    has_changed = false;
    TenantQueue* tenant = queue.ring.front();
    for (size_t left = queue.ring.size(); left > 0 && !is_full(filling); --left) {
      TenantQueue* const next = queue.ring.next(*tenant);
      if (take_turn(filling, *tenant)) has_changed = true;
      tenant = next;
    }
  }
}

// Tokens that the next batch of the class should have.
int64_t Batcher::share_of(const ClassQueue& queue, int idle_lanes) const {
  const bool is_interactive = index_of(queue) == static_cast<int>(Priority::kInteractive);
  const int64_t most =
      is_interactive ? std::min(limits_.max_batch_tokens, limits_.max_interactive_tokens) : limits_.max_batch_tokens;
  const auto part = [&queue](int lanes) { return (queue.tokens + lanes - 1) / lanes; };
  if (idle_lanes > 1) return std::clamp<int64_t>(part(idle_lanes), 1, most);
  return std::clamp<int64_t>(part(limits_.lanes), std::min<int64_t>(limits_.min_batch_tokens, most), most);
}

bool Batcher::is_full(const Filling& filling) const {
  if (filling.batch.tokens >= filling.room) return true;
  return limits_.max_batch_requests > 0 && static_cast<int>(filling.batch.items.size()) >= limits_.max_batch_requests;
}

// Whether the tenant gave a text, or paid of its debt. It may be gone afterwards.
bool Batcher::take_turn(const Filling& filling, TenantQueue& tenant) {
  bool is_served = false;
  while (!is_full(filling)) {
    const int kind = tenant.next_flow();
    const bool is_welcome = filling.batch.empty() ? !filling.small_only || kind == 0 : filling.batch.is_large == (kind == 1);
    if (!is_welcome) return is_served;
    QueuedRequest& request = *tenant.flows[kind].front();
    if (is_expired(request, filling.now) || is_cancelled(request)) {
      filling.batch.dropped.push_back({&request, is_expired(request, filling.now)});
      if (forget(filling.queue, request)) return is_served;
      continue;
    }
    if (!begin_turn(filling, tenant)) return true;
    const int tokens = take_text(filling, request);
    if (tokens == 0) return is_served;
    is_served = true;
    tenant.served[kind] += tokens;
    if (request.begin == request.end && forget(filling.queue, request)) return true;
    tenant.deficit -= tokens;
    if (tenant.deficit <= 0) {
      end_turn(filling.queue, tenant);
      return true;
    }
  }
  return is_served;
}

// Whether the tenant may give texts. A turn is worth some tokens; what a tenant took beyond them is missing from its next
// turns. To interrupt a batch of its class a tenant needs no turn, but pays in the same way: else it would get more than the
// interrupted one.
bool Batcher::begin_turn(const Filling& filling, TenantQueue& tenant) {
  if (tenant.is_in_turn || filling.small_only) return true;
  tenant.deficit += quantum_;
  tenant.is_in_turn = tenant.deficit > 0;
  if (!tenant.is_in_turn) end_turn(filling.queue, tenant);
  return tenant.is_in_turn;
}

void Batcher::end_turn(ClassQueue& queue, TenantQueue& tenant) {
  tenant.is_in_turn = false;
  queue.ring.remove(tenant);
  queue.ring.push_back(tenant);
}

// Puts the request's next text into the batch; returns its tokens, 0 if none fits. That is the longest one, so that a batch has
// texts of similar length; but the shortest ones fill a batch that would be half empty.
int Batcher::take_text(const Filling& filling, QueuedRequest& request) {
  Batch& batch = filling.batch;
  const int longest = request.texts[request.begin].tokens;
  const int shortest = request.texts[request.end - 1].tokens;
  const bool takes_longest = batch.empty() || batch.tokens + longest <= filling.room;
  if (!takes_longest && (batch.tokens * 2 > filling.room || batch.tokens + shortest > filling.room)) return 0;
  const QueuedText& text = request.texts[takes_longest ? request.begin++ : --request.end];
  batch.is_large = request.is_large;
  batch.items.push_back({&request, text.index});
  batch.tokens += text.tokens;
  batch.squares += static_cast<int64_t>(text.tokens) * text.tokens;
  request.tokens -= text.tokens;
  filling.queue.tokens -= text.tokens;
  --filling.queue.texts;
  return text.tokens;
}

void Batcher::account(const ClassQueue& served, int tokens) {
  for (ClassQueue& queue : queues_) {
    queue.owed += tokens * limits_.min_share[index_of(queue)];
    if (&queue == &served) queue.owed = std::max(0.0, queue.owed - tokens);
    if (queue.arrivals.empty()) queue.owed = 0;
  }
}

void Batcher::drop_dead(Clock::time_point now, Batch& batch) {
  if (now < first_deadline_ && now < next_sweep_) return;
  next_sweep_ = now + kSweepInterval;
  first_deadline_ = Clock::time_point::max();
  for (ClassQueue& queue : queues_) {
    for (QueuedRequest* request = queue.arrivals.front(); request != nullptr;) {
      QueuedRequest* const next = queue.arrivals.next(*request);
      if (is_expired(*request, now) || is_cancelled(*request)) {
        batch.dropped.push_back({request, is_expired(*request, now)});
        forget(queue, *request);
      } else if (request->deadline) {
        first_deadline_ = std::min(first_deadline_, *request->deadline);
      }
      request = next;
    }
  }
}

// Takes the request out. Whether its tenant had nothing else and is gone as well.
bool Batcher::forget(ClassQueue& queue, QueuedRequest& request) {
  TenantQueue& tenant = *request.queue;
  queue.arrivals.remove(request);
  const int kind = request.is_large ? 1 : 0;
  tenant.flows[kind].remove(request);
  --queue.requests[kind];
  queue.tokens -= request.tokens;
  queue.texts -= request.end - request.begin;
  request.queue = nullptr;
  if (!tenant.flows[0].empty() || !tenant.flows[1].empty()) return false;
  queue.ring.remove(tenant);
  queue.tenants.erase(request.tenant);
  return true;
}

}  // namespace inlay
