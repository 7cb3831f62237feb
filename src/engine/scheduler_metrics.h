// What a scheduler counts, for whoever shows it.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/cost_model.h"
#include "engine/priority.h"

namespace inlay {

// Why a request was not admitted.
enum class Rejection : uint8_t { kTooManyRequests, kQueueFull, kTooLarge, kDraining };
inline constexpr int kRejections = 4;

// Counts by powers of two: bucket i holds values up to 2^i that no earlier bucket holds.
struct Histogram {
  static constexpr int kBuckets = 18;
  std::array<uint64_t, kBuckets> counts = {};
  uint64_t sum = 0;

  void add(uint64_t value) {
    const int bucket = value <= 1 ? 0 : static_cast<int>(std::bit_width(value - 1));
    ++counts[bucket < kBuckets ? bucket : kBuckets - 1];
    sum += value;
  }
};

// A snapshot. Counters start at 0 with the scheduler and only grow.
struct SchedulerMetrics {
  struct Waiting {
    uint64_t requests = 0;
    int64_t tokens = 0;
    std::chrono::nanoseconds oldest{0};  // how long the oldest request has waited
  };
  std::array<Waiting, kPriorities> waiting;  // by class

  std::array<uint64_t, kRejections> rejected = {};  // requests
  uint64_t expired = 0;                             // texts whose deadline passed
  uint64_t cancelled = 0;                           // texts whose client went away
  uint64_t failed = 0;                              // texts whose computation failed
  uint64_t embedded = 0;                            // texts that got a vector

  Histogram batch_tokens;
  Histogram batch_texts;
  uint64_t interruptions = 0;  // batches that ran in the middle of another
  uint64_t team_batches = 0;   // batches that several lanes ran together
  std::vector<std::chrono::nanoseconds> lane_busy;
  std::chrono::nanoseconds lane_scheduling{0};  // of all lanes, spent on choosing batches

  CostCoefficients cost;
  std::chrono::nanoseconds predicted_drain{0};  // of all that is admitted
};

}  // namespace inlay
