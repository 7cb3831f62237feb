#include <algorithm>

#include "base/json_writer.h"
#include "jobs/memory_report.h"
#include "jobs/tune/tune_report.h"

namespace inlay {
namespace {

void put(JsonWriter& json, const BatchPoint& point) {
  json.begin_object().key("max_batch_tokens").value(point.batch_tokens).key("batch_texts").value(point.batch_texts);
  json.key("tokens_per_s").value(point.tokens_per_second).key("p50_ms").value(kMilli * point.p50);
  json.key("p99_ms").value(kMilli * point.p99).key("memory_bytes").value(point.memory_bytes);
  json.key("memory_share").value(point.memory_share).end_object();
}

void put(JsonWriter& json, const ThreadPoint& point) {
  json.begin_object().key("threads").value(point.threads).key("tokens_per_s").value(point.tokens_per_second).end_object();
}

void put(JsonWriter& json, const LoadPoint& point) {
  json.begin_object().key("max_batch_tokens").value(point.batch_tokens).key("max_queue_delay_us").value(point.queue_delay_us);
  json.key("clients").value(point.clients).key("rate").value(point.rate).key("requests").value(point.requests);
  json.key("requests_per_s").value(point.requests_per_second).key("tokens_per_s").value(point.tokens_per_second);
  json.key("p50_ms").value(kMilli * point.p50).key("p99_ms").value(kMilli * point.p99);
  json.key("lane_use").value(point.lane_use).key("batch_texts").value(point.batch_texts);
  json.key("rejected").value(point.rejected).end_object();
}

template <class T>
void put_list(JsonWriter& json, std::string_view name, const std::vector<T>& list) {
  json.key(name).begin_array();
  for (const T& item : list) put(json, item);
  json.end_array();
}

void put(JsonWriter& json, const TuneChoice& choice) {
  json.begin_object().key("threads").value(choice.threads).key("max_batch_tokens").value(choice.batch_tokens);
  json.key("max_concurrent_requests").value(choice.clients).key("max_queue_delay_us").value(choice.queue_delay_us);
  json.key("keeps_objective").value(choice.keeps_objective).key("requests").value(choice.requests);
  json.key("p99_ms").value(kMilli * choice.p99).key("requests_per_s").value(choice.requests_per_second);
  json.key("rate").value(choice.rate).key("rate_p99_ms").value(kMilli * choice.rate_p99).end_object();
}

std::string line(std::string_view name, const std::string& value) { return fmt::format("{:<14} {}\n", name, value); }

std::string load_line(const LoadPoint& point) {
  const std::string load =
      point.clients > 0 ? fmt::format("{} clients", point.clients) : fmt::format("{:.0f}/s arrive", point.rate);
  return fmt::format("{:>8} {:>8} {:>14} {:>9.1f} {:>10.0f} {:>9.2f} {:>9.2f} {:>6.1f} % {:>7.1f}\n", point.batch_tokens,
                     point.queue_delay_us, load, point.requests_per_second, point.tokens_per_second, kMilli * point.p50,
                     kMilli * point.p99, 100 * point.lane_use, point.batch_texts);
}

std::string choice_lines(const TuneReport& report) {
  const TuneChoice& choice = report.choice;
  std::string text = line("choice", fmt::format("{} threads, batches of {} tokens, {} us delay for bulk work", choice.threads,
                                                choice.batch_tokens, choice.queue_delay_us));
  text += line("", fmt::format("{} requests at once: {:.1f} requests/s, P99 {:.2f} ms of {} requests", choice.clients,
                               choice.requests_per_second, kMilli * choice.p99, choice.requests));
  if (choice.rate > 0) {
    text +=
        line("", fmt::format("random arrivals up to {:.1f} requests/s: P99 {:.2f} ms", choice.rate, kMilli * choice.rate_p99));
  }
  if (!choice.keeps_objective) {
    text +=
        line("", fmt::format("nothing keeps a P99 of {:g} ms on this machine; this is the nearest", kMilli * report.slo_p99));
  }
  return text;
}

}  // namespace

std::string tune_json(const TuneReport& report) {
  JsonWriter json;
  json.begin_object().key("model").value(report.model).key("dtype").value(report.dtype).key("isa").value(report.isa);
  json.key("created").value(report.created).key("slo_p99_ms").value(kMilli * report.slo_p99);
  json.key("seconds").value(report.seconds).key("texts").value(report.texts).key("text_tokens").value(report.text_tokens);
  json.key("texts_are_made_up").value(report.texts_are_made_up);
  put(json.key("choice"), report.choice);
  put_list(json, "threads", report.threads);
  put_list(json, "batches", report.batches);
  json.key("batches_end").value(report.batches_end);
  put_list(json, "closed", report.closed);
  put_list(json, "delays", report.delays);
  put_list(json, "open", report.open);
  json.end_object();
  return json.take() + "\n";
}

std::string tune_table(const TuneReport& report) {
  std::string text = line("model", fmt::format("{} in {}, {} kernels", report.model, report.dtype, report.isa));
  text += line("texts", fmt::format("{}{}, {:.1f} tokens each", report.texts, report.texts_are_made_up ? " made up" : "",
                                    report.text_tokens));
  for (const ThreadPoint& point : report.threads) {
    text += line("threads", fmt::format("{}: {:.0f} tokens/s", point.threads, point.tokens_per_second));
  }
  text += fmt::format("\n{:>8} {:>8} {:>10} {:>9} {:>9} {:>11}\n", "batch", "texts", "tokens/s", "P50 ms", "P99 ms", "memory");
  for (const BatchPoint& point : report.batches) {
    text += fmt::format("{:>8} {:>8.1f} {:>10.0f} {:>9.2f} {:>9.2f} {:>11}\n", point.batch_tokens, point.batch_texts,
                        point.tokens_per_second, kMilli * point.p50, kMilli * point.p99, bytes_text(point.memory_bytes));
  }
  text += fmt::format("{:>8} {}\n\n", "end:", report.batches_end);
  text += fmt::format("{:>8} {:>8} {:>14} {:>9} {:>10} {:>9} {:>9} {:>8} {:>7}\n", "batch", "delay us", "load", "answers/s",
                      "tokens/s", "P50 ms", "P99 ms", "lanes", "texts");
  for (const LoadPoint& point : report.closed) text += load_line(point);
  text += "bulk work\n";
  for (const LoadPoint& point : report.delays) text += load_line(point);
  text += "random arrivals\n";
  for (const LoadPoint& point : report.open) text += load_line(point);
  return text + "\n" + choice_lines(report);
}

std::string tune_config(const TuneReport& report) {
  const TuneChoice& choice = report.choice;
  std::string text = fmt::format("# inlay tune, {}: {} in {} for a P99 of {:g} ms.\n", report.created, report.model,
                                 report.dtype, kMilli * report.slo_p99);
  text += "# inlay serve --config reads it; flags and environment variables go first.\n";
  text += fmt::format("dtype = \"{}\"\nthreads = {}\n", report.dtype, choice.threads);
  text += fmt::format("max-batch-tokens = {}\nmax-queue-delay-us = {}\n", choice.batch_tokens, choice.queue_delay_us);
  text +=
      fmt::format("# With so many requests of one text ({:.0f} tokens) at once: {:.1f} requests/s and a P99 of {:.2f} ms{}.\n",
                  report.text_tokens, choice.requests_per_second, kMilli * choice.p99,
                  choice.keeps_objective ? "" : ", which is not what was asked for");
  return text + fmt::format("max-concurrent-requests = {}\n", choice.clients);
}

}  // namespace inlay
