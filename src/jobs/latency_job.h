// Measures how long one text takes, from its characters to its vector, while nothing else waits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace inlay {

struct LatencyReport {
  std::vector<double> seconds;  // of each run, the shortest first: tokenising one text and embedding it
  double tokens = 0;            // of a text, on average over the runs

  // The least of the runs that a share of them does not exceed; `share` in (0, 1].
  double percentile(double share) const;
};

// Texts take turns, each in a call of its own that every thread of the engine shares. Some runs warm up first and are not
// reported. `stopped` is asked between runs, and may be empty; true ends with kCancelled.
Result<LatencyReport> run_latency(const Engine& engine, const std::vector<std::string>& texts, int runs,
                                  const std::function<bool()>& stopped);

}  // namespace inlay
