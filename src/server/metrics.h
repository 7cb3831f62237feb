// What the server counts, and its text for Prometheus. Written by hand: a dozen counters and five histograms need neither a
// registry nor the HTTP server that the usual library brings, and here an observation is one relaxed atomic addition without a
// lock.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/scheduler_metrics.h"
#include "server/api/failure.h"

namespace inlay {

// Buckets grow by half: 35 from 10 µs to 9.7 s for times.
class MetricHistogram {
 public:
  explicit MetricHistogram(double first) : first_(first) {}
  void observe(double value);
  // Appends the lines of one histogram without its HELP and TYPE.
  void write(std::string& out, std::string_view name) const;
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kBuckets = 35;
  static constexpr double kGrowth = 1.5;

  double first_;
  std::array<std::atomic<uint64_t>, kBuckets + 1> buckets_{};
  std::atomic<uint64_t> count_ = 0;
  std::atomic<double> sum_ = 0;
};

struct Metrics {
  // By dialect: requests that came to an embedding route, and those answered with vectors.
  std::array<std::atomic<uint64_t>, kDialects> requests{};
  std::array<std::atomic<uint64_t>, kDialects> successes{};
  std::array<std::atomic<uint64_t>, kFaults> failures{};
  std::atomic<uint64_t> texts = 0;
  std::atomic<uint64_t> tokens = 0;
  std::atomic<uint64_t> truncated = 0;
  std::atomic<uint64_t> non_finite = 0;
  std::array<std::atomic<int64_t>, 3> in_progress{};  // by Priority: admitted and not answered

  MetricHistogram request_seconds{1e-5};
  MetricHistogram tokenize_seconds{1e-5};
  MetricHistogram queue_seconds{1e-5};
  MetricHistogram compute_seconds{1e-5};
  MetricHistogram render_seconds{1e-5};
  MetricHistogram text_tokens{1};
};

// Gauges that somebody else knows.
struct Gauges {
  int connections = 0;
  bool ready = true;
};

// What the scheduler of a model counts.
struct ModelMetrics {
  std::string model;
  SchedulerMetrics metrics;
};
// Appends the schedulers' figures, labelled with the models' names.
void write_scheduler_metrics(std::string& out, const std::vector<ModelMetrics>& models);

// Prometheus text. `te_names` adds the same figures under the names of text-embeddings-inference.
std::string render_metrics(const Metrics& metrics, const Gauges& gauges, bool te_names);

}  // namespace inlay
