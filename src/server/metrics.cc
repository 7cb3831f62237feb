#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/process.h"

namespace inlay {
namespace {

constexpr std::array<std::string_view, kDialects> kDialectNames = {"openai", "tei", "cohere", "ollama", "kserve", "grpc"};
constexpr std::array<std::string_view, 3> kPriorityNames = {"interactive", "standard", "bulk"};

void write_type(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void write_counter(std::string& out, std::string_view name, std::string_view help, uint64_t value) {
  write_type(out, name, "counter", help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void write_gauge(std::string& out, std::string_view name, std::string_view help, double value) {
  write_type(out, name, "gauge", help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void write_histogram(std::string& out, std::string_view name, std::string_view help, const MetricHistogram& histogram) {
  write_type(out, name, "histogram", help);
  histogram.write(out, name);
}

template <class Values, class Labels>
void write_labelled(std::string& out, std::string_view name, std::string_view label, const Labels& labels,
                    const Values& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{{{}=\"{}\"}} {}\n", name, label, labels[i],
                   values[i].load(std::memory_order_relaxed));
  }
}

std::array<std::string_view, kFaults> fault_names() {
  std::array<std::string_view, kFaults> names;
  for (int i = 0; i < kFaults; ++i) names[static_cast<size_t>(i)] = fault_name(static_cast<Fault>(i));
  return names;
}

template <class Values>
uint64_t sum(const Values& values) {
  uint64_t total = 0;
  for (const auto& value : values) total += static_cast<uint64_t>(value.load(std::memory_order_relaxed));
  return total;
}

std::string_view te_error(Fault fault) {
  switch (fault) {
    case Fault::kOverloaded: return "overloaded";
    case Fault::kModelKind: return "model_type";
    case Fault::kCancelled: return "dropped";
    case Fault::kInternal: return "inference";
    default: return "validation";
  }
}

void write_te_names(std::string& out, const Metrics& metrics) {
  write_type(out, "te_request_count", "counter", "Requests.");
  fmt::format_to(std::back_inserter(out), "te_request_count{{method=\"batch\"}} {}\n", sum(metrics.requests));
  write_type(out, "te_request_success", "counter", "Requests answered with vectors.");
  fmt::format_to(std::back_inserter(out), "te_request_success{{method=\"batch\"}} {}\n", sum(metrics.successes));
  write_type(out, "te_request_failure", "counter", "Requests that failed.");
  for (const std::string_view error : {"overloaded", "model_type", "dropped", "inference", "validation"}) {
    uint64_t count = 0;
    for (int i = 0; i < kFaults; ++i) {
      if (te_error(static_cast<Fault>(i)) == error)
        count += metrics.failures[static_cast<size_t>(i)].load(std::memory_order_relaxed);
    }
    fmt::format_to(std::back_inserter(out), "te_request_failure{{err=\"{}\"}} {}\n", error, count);
  }
  write_counter(out, "te_embed_count", "Texts.", metrics.texts.load(std::memory_order_relaxed));
  write_histogram(out, "te_request_duration", "Seconds of a request.", metrics.request_seconds);
  write_histogram(out, "te_request_tokenization_duration", "Seconds of tokenising.", metrics.tokenize_seconds);
  write_histogram(out, "te_request_queue_duration", "Seconds of waiting.", metrics.queue_seconds);
  write_histogram(out, "te_request_inference_duration", "Seconds of computing.", metrics.compute_seconds);
  write_histogram(out, "te_request_input_length", "Tokens of a text.", metrics.text_tokens);
  write_gauge(out, "te_queue_size", "Requests admitted and not answered.", static_cast<double>(sum(metrics.in_progress)));
}

}  // namespace

void MetricHistogram::observe(double value) {
  // The first bucket whose bound is not below the value.
  const double steps = value <= first_ ? 0 : std::ceil(std::log(value / first_) / std::log(kGrowth) - 1e-9);
  const size_t bucket = static_cast<size_t>(std::clamp(steps, 0.0, static_cast<double>(kBuckets)));
  buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void MetricHistogram::write(std::string& out, std::string_view name) const {
  uint64_t cumulative = 0;
  double bound = first_;
  for (int i = 0; i < kBuckets; ++i) {
    cumulative += buckets_[static_cast<size_t>(i)].load(std::memory_order_relaxed);
    fmt::format_to(std::back_inserter(out), "{}_bucket{{le=\"{:.6g}\"}} {}\n", name, bound, cumulative);
    bound *= kGrowth;
  }
  cumulative += buckets_[kBuckets].load(std::memory_order_relaxed);
  fmt::format_to(std::back_inserter(out), "{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, cumulative, name,
                 sum_.load(std::memory_order_relaxed), name, cumulative);
}

std::string render_metrics(const Metrics& metrics, const Gauges& gauges, bool te_names) {
  std::string out;
  write_type(out, "inlay_requests_total", "counter", "Embedding requests, by dialect.");
  write_labelled(out, "inlay_requests_total", "dialect", kDialectNames, metrics.requests);
  write_type(out, "inlay_requests_succeeded_total", "counter", "Embedding requests answered with vectors, by dialect.");
  write_labelled(out, "inlay_requests_succeeded_total", "dialect", kDialectNames, metrics.successes);
  write_type(out, "inlay_requests_failed_total", "counter", "Requests turned away or failed, by reason.");
  write_labelled(out, "inlay_requests_failed_total", "reason", fault_names(), metrics.failures);
  write_counter(out, "inlay_texts_total", "Texts embedded.", metrics.texts.load(std::memory_order_relaxed));
  write_counter(out, "inlay_tokens_total", "Tokens embedded.", metrics.tokens.load(std::memory_order_relaxed));
  write_counter(out, "inlay_truncated_texts_total", "Texts that were cut to the limit.",
                metrics.truncated.load(std::memory_order_relaxed));
  write_counter(out, "inlay_non_finite_vectors_total", "Vectors with NaN or infinity, which are answered as errors.",
                metrics.non_finite.load(std::memory_order_relaxed));
  write_type(out, "inlay_requests_in_progress", "gauge", "Requests admitted and not answered, by priority.");
  write_labelled(out, "inlay_requests_in_progress", "priority", kPriorityNames, metrics.in_progress);
  write_gauge(out, "inlay_connections", "Open connections.", gauges.connections);
  write_gauge(out, "inlay_ready", "1 while requests are taken.", gauges.ready ? 1 : 0);
  write_gauge(out, "inlay_resident_bytes", "Memory held.", static_cast<double>(process_memory().resident));
  write_gauge(out, "inlay_peak_resident_bytes", "Most memory held so far.", static_cast<double>(peak_resident_bytes()));
  write_histogram(out, "inlay_request_seconds", "From a whole request to its answer.", metrics.request_seconds);
  write_histogram(out, "inlay_tokenize_seconds", "Reading and tokenising a request.", metrics.tokenize_seconds);
  write_histogram(out, "inlay_queue_seconds", "From submission to the start of the first text.", metrics.queue_seconds);
  write_histogram(out, "inlay_compute_seconds", "In the model.", metrics.compute_seconds);
  write_histogram(out, "inlay_render_seconds", "Writing the answer's body.", metrics.render_seconds);
  write_histogram(out, "inlay_text_tokens", "Tokens of a text.", metrics.text_tokens);
  if (te_names) write_te_names(out, metrics);
  return out;
}

}  // namespace inlay
