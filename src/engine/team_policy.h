// Decides whether idle lanes join the lane that runs a batch. Pure, so that tests and the simulator need no threads.
#pragma once

#include <cstdint>

#include "engine/batcher.h"

namespace inlay {

// A team answers a lone query sooner than one lane would, but two lanes with a query each answer more of them: the threads of a
// team wait for one another at every layer, and for whatever else needs a core. So a team forms only while queries come one by
// one, which is learnt from what arrived during the batches that began alone.
class TeamPolicy {
 public:
  // A batch this small gains from idle lanes. A query that comes meanwhile waits for half of its time at most.
  static constexpr int kMostTokens = 128;
  // Waking the helpers takes some 50 microseconds each.
  static constexpr double kLeastSeconds = 300e-6;

  explicit TeamPolicy(int most_tokens = kMostTokens) : most_tokens_(most_tokens) {}

  // Whether the batch, which one lane would run in `seconds`, is one to share when lanes are idle and nothing else waits. What
  // it begins alone is to be told to note(), whether it was shared or not.
  bool is_candidate(const Batch& batch, double seconds) const {
    return !batch.empty() && batch.tokens <= most_tokens_ && seconds >= kLeastSeconds;
  }
  bool wants_team() const { return crowding_ < kMostCrowding; }
  // A candidate has ended; `has_company`: another request arrived meanwhile.
  void note(bool has_company) { crowding_ += kRate * ((has_company ? 1 : 0) - crowding_); }

 private:
  // Below this share lanes would be idle for most of the time that a team saves. Two clients that ask again as soon as they are
  // answered come to 1, one client to 0.
  static constexpr double kMostCrowding = 0.5;
  static constexpr double kRate = 0.1;  // some ten batches are remembered

  int most_tokens_;
  double crowding_ = 0;
};

}  // namespace inlay
