#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "server/metrics.h"

namespace inlay {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::array<std::string_view, kPriorities> kClasses = {"interactive", "standard", "bulk"};
constexpr std::array<std::string_view, kRejections> kReasons = {"too_many_requests", "queue_full", "too_large", "draining"};
constexpr std::array<std::string_view, 4> kEnds = {"embedded", "expired", "cancelled", "failed"};

std::string escaped(std::string_view model) {
  std::string text;
  for (const char c : model) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

// All lines of a metric stand together, as Prometheus wants them: so metric by metric, model by model.
class Writer {
 public:
  Writer(std::string& out, const std::vector<ModelMetrics>& models) : out_(out), models_(models) {}

  template <class Value>
  void metric(std::string_view name, std::string_view type, const Value& value_of) {
    write_type(name, type);
    for (const ModelMetrics& model : models_) line(name, model, "", value_of(model.metrics));
  }
  template <class Labels, class Value>
  void metric(std::string_view name, std::string_view type, std::string_view label, const Labels& labels,
              const Value& value_of) {
    write_type(name, type);
    for (const ModelMetrics& model : models_) {
      for (size_t i = 0; i < labels.size(); ++i) {
        line(name, model, fmt::format(",{}=\"{}\"", label, labels[i]), value_of(model.metrics, i));
      }
    }
  }
  void histogram(std::string_view name, Histogram SchedulerMetrics::*member) {
    write_type(name, "histogram");
    const std::string bucket = fmt::format("{}_bucket", name);
    for (const ModelMetrics& model : models_) {
      const Histogram& histogram = model.metrics.*member;
      uint64_t cumulative = 0;
      for (int i = 0; i < Histogram::kBuckets; ++i) {
        cumulative += histogram.counts[static_cast<size_t>(i)];
        // The last bucket holds everything beyond.
        const std::string bound = i + 1 < Histogram::kBuckets ? std::to_string(1 << i) : "+Inf";
        line(bucket, model, fmt::format(",le=\"{}\"", bound), cumulative);
      }
      line(fmt::format("{}_sum", name), model, "", histogram.sum);
      line(fmt::format("{}_count", name), model, "", cumulative);
    }
  }

 private:
  void write_type(std::string_view name, std::string_view type) {
    fmt::format_to(std::back_inserter(out_), "# TYPE {} {}\n", name, type);
  }
  template <class Value>
  void line(std::string_view name, const ModelMetrics& model, std::string_view labels, Value value) {
    fmt::format_to(std::back_inserter(out_), "{}{{model=\"{}\"{}}} {}\n", name, escaped(model.model), labels, value);
  }

  std::string& out_;
  const std::vector<ModelMetrics>& models_;
};

void write_queue(Writer& writer) {
  const auto waiting = [](auto figure) {
    return [figure](const SchedulerMetrics& metrics, size_t i) { return figure(metrics.waiting[i]); };
  };
  using Waiting = SchedulerMetrics::Waiting;
  writer.metric("inlay_queue_requests", "gauge", "priority", kClasses, waiting([](const Waiting& w) { return w.requests; }));
  writer.metric("inlay_queue_tokens", "gauge", "priority", kClasses, waiting([](const Waiting& w) { return w.tokens; }));
  writer.metric("inlay_queue_oldest_seconds", "gauge", "priority", kClasses,
                waiting([](const Waiting& w) { return Seconds(w.oldest).count(); }));
  writer.metric("inlay_queue_predicted_drain_seconds", "gauge",
                [](const SchedulerMetrics& metrics) { return Seconds(metrics.predicted_drain).count(); });
  writer.metric("inlay_queue_rejected_total", "counter", "reason", kReasons,
                [](const SchedulerMetrics& metrics, size_t i) { return metrics.rejected[i]; });
}

void write_lanes(Writer& writer, const std::vector<ModelMetrics>& models) {
  size_t lanes = 0;
  for (const ModelMetrics& model : models) lanes = std::max(lanes, model.metrics.lane_busy.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < lanes; ++i) names.push_back(std::to_string(i));
  writer.metric("inlay_lane_busy_seconds_total", "counter", "lane", names, [](const SchedulerMetrics& metrics, size_t i) {
    return i < metrics.lane_busy.size() ? Seconds(metrics.lane_busy[i]).count() : 0;
  });
}

}  // namespace

void write_scheduler_metrics(std::string& out, const std::vector<ModelMetrics>& models) {
  Writer writer(out, models);
  write_queue(writer);
  writer.metric("inlay_scheduled_texts_total", "counter", "end", kEnds, [](const SchedulerMetrics& metrics, size_t i) {
    return std::array<uint64_t, 4>{metrics.embedded, metrics.expired, metrics.cancelled, metrics.failed}[i];
  });
  writer.histogram("inlay_batch_tokens", &SchedulerMetrics::batch_tokens);
  writer.histogram("inlay_batch_texts", &SchedulerMetrics::batch_texts);
  writer.metric("inlay_batch_interruptions_total", "counter",
                [](const SchedulerMetrics& metrics) { return metrics.interruptions; });
  writer.metric("inlay_team_batches_total", "counter", [](const SchedulerMetrics& metrics) { return metrics.team_batches; });
  write_lanes(writer, models);
  // What a batch is predicted to cost: seconds a batch, a token, a pair of tokens of one text, and what is added where tokens
  // are few.
  static constexpr std::array<std::string_view, 4> kParts = {"batch", "token", "pair", "few"};
  writer.metric("inlay_batch_cost_seconds", "gauge", "part", kParts, [](const SchedulerMetrics& metrics, size_t i) {
    return std::array<double, 4>{metrics.cost.a, metrics.cost.b, metrics.cost.c, metrics.cost.d}[i];
  });
  writer.metric("inlay_scheduling_seconds_total", "counter",
                [](const SchedulerMetrics& metrics) { return Seconds(metrics.lane_scheduling).count(); });
}

}  // namespace inlay
