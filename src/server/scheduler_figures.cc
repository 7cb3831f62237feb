#include <fmt/format.h>

#include <iterator>

#include "server/metrics.h"

namespace inlay {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::array<std::string_view, kPriorities> kClasses = {"interactive", "standard", "bulk"};
constexpr std::array<std::string_view, kRejections> kReasons = {"too_many_requests", "queue_full", "too_large", "draining"};

// Lines of the metrics of one model.
class Writer {
 public:
  Writer(std::string& out, std::string_view model, bool with_types) : out_(out), with_types_(with_types) {
    for (const char c : model) {
      if (c == '"' || c == '\\') model_ += '\\';
      model_ += c == '\n' ? ' ' : c;
    }
  }

  void type(std::string_view name, std::string_view type) {
    if (with_types_) fmt::format_to(std::back_inserter(out_), "# TYPE {} {}\n", name, type);
  }

  template <class Value>
  void line(std::string_view name, Value value) {
    fmt::format_to(std::back_inserter(out_), "{}{{model=\"{}\"}} {}\n", name, model_, value);
  }
  template <class Value>
  void line(std::string_view name, std::string_view label, std::string_view of, Value value) {
    fmt::format_to(std::back_inserter(out_), "{}{{model=\"{}\",{}=\"{}\"}} {}\n", name, model_, label, of, value);
  }

  void histogram(std::string_view name, const Histogram& histogram) {
    type(name, "histogram");
    const std::string bucket = fmt::format("{}_bucket", name);
    uint64_t cumulative = 0;
    for (int i = 0; i < Histogram::kBuckets; ++i) {
      cumulative += histogram.counts[static_cast<size_t>(i)];
      // The last bucket holds everything beyond.
      line(bucket, "le", i + 1 < Histogram::kBuckets ? std::to_string(1 << i) : "+Inf", cumulative);
    }
    line(fmt::format("{}_sum", name), histogram.sum);
    line(fmt::format("{}_count", name), cumulative);
  }

 private:
  std::string& out_;
  bool with_types_;
  std::string model_;
};

void write_queue(Writer& writer, const SchedulerMetrics& metrics) {
  for (const char* name : {"inlay_queue_requests", "inlay_queue_tokens", "inlay_queue_oldest_seconds"}) writer.type(name, "gauge");
  for (size_t i = 0; i < kClasses.size(); ++i) {
    const SchedulerMetrics::Waiting& waiting = metrics.waiting[i];
    writer.line("inlay_queue_requests", "priority", kClasses[i], waiting.requests);
    writer.line("inlay_queue_tokens", "priority", kClasses[i], waiting.tokens);
    writer.line("inlay_queue_oldest_seconds", "priority", kClasses[i], Seconds(waiting.oldest).count());
  }
  writer.type("inlay_queue_predicted_drain_seconds", "gauge");
  writer.line("inlay_queue_predicted_drain_seconds", Seconds(metrics.predicted_drain).count());
  writer.type("inlay_queue_rejected_total", "counter");
  for (size_t i = 0; i < kReasons.size(); ++i) writer.line("inlay_queue_rejected_total", "reason", kReasons[i], metrics.rejected[i]);
}

}  // namespace

void write_scheduler_metrics(std::string& out, std::string_view model, const SchedulerMetrics& metrics, bool with_types) {
  Writer writer(out, model, with_types);
  write_queue(writer, metrics);
  writer.type("inlay_scheduled_texts_total", "counter");
  writer.line("inlay_scheduled_texts_total", "end", "embedded", metrics.embedded);
  writer.line("inlay_scheduled_texts_total", "end", "expired", metrics.expired);
  writer.line("inlay_scheduled_texts_total", "end", "cancelled", metrics.cancelled);
  writer.line("inlay_scheduled_texts_total", "end", "failed", metrics.failed);
  writer.histogram("inlay_batch_tokens", metrics.batch_tokens);
  writer.histogram("inlay_batch_texts", metrics.batch_texts);
  writer.type("inlay_batch_interruptions_total", "counter");
  writer.line("inlay_batch_interruptions_total", metrics.interruptions);
  writer.type("inlay_team_batches_total", "counter");
  writer.line("inlay_team_batches_total", metrics.team_batches);
  writer.type("inlay_lane_busy_seconds_total", "counter");
  for (size_t i = 0; i < metrics.lane_busy.size(); ++i) {
    writer.line("inlay_lane_busy_seconds_total", "lane", std::to_string(i), Seconds(metrics.lane_busy[i]).count());
  }
  writer.type("inlay_scheduling_seconds_total", "counter");
  writer.line("inlay_scheduling_seconds_total", Seconds(metrics.lane_scheduling).count());
}

}  // namespace inlay
