#include "jobs/tune/tune_job.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/cpu.h"
#include "base/process.h"
#include "jobs/tune/load.h"

namespace inlay {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kFirstBatchTokens = 64;
constexpr size_t kBatchesLoaded = 4;
constexpr int kMostClients = 1024;
constexpr size_t kMadeUpTexts = 512;
constexpr int kDelays[] = {0, 1000, 5000, 20000};  // microseconds
// Of what the closed loop answered.
constexpr double kRates[] = {0.5, 0.7, 0.8, 0.9};
// How often a choice that loses the objective when it is measured again gives way to the next, and how long that takes.
constexpr int kConfirmations = 3;
constexpr double kConfirmationSteps = 4;
// Clients that keep lanes busy while bulk work is timed, as a multiple of the lanes.
constexpr int kBulkClients = 4;

class Tuning {
 public:
  Tuning(const TuneOptions& options, const JobHooks& hooks) : options_(options), hooks_(hooks), step_(options.seconds / 50) {}

  Result<TuneReport> run() {
    const SteadyClock::time_point begin = SteadyClock::now();
    report_.slo_p99 = options_.slo_p99;
    report_.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    TRY_VOID(find_threads());
    const ServedEngine model = TRY(load(report_.choice.threads));
    const LoadTexts texts = TRY(load_texts(*model.engine));
    describe(*model.engine, texts);
    TRY_VOID(sweep_batches(*model.engine, texts));
    TRY_VOID(sweep_clients(model, texts));
    TRY_VOID(choose_clients(model, texts));
    TRY_VOID(sweep_delays(model, texts));
    TRY_VOID(sweep_rates(model, texts));
    report_.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    return report_;
  }

 private:
  // As a server loads it.
  Result<ServedEngine> load(int threads) const {
    EngineOptions engine = options_.engine;
    engine.threads = threads;
    engine.max_batch_tokens = options_.most_batch_tokens;
    ServedEngine model;
    model.serving = TRY(options_for_serving(std::move(engine)));
    model.engine = std::make_shared<const Engine>(TRY(Engine::load(model.serving.engine)));
    return model;
  }

  Result<LoadTexts> load_texts(const Engine& engine) const {
    if (options_.texts.empty()) return made_up_texts(engine, kMadeUpTexts, options_.seed);
    return texts_for_load(engine, options_.texts);
  }

  void describe(const Engine& engine, const LoadTexts& texts) {
    report_.model = options_.engine.model.string();
    report_.dtype = precision_name(engine.precision());
    report_.isa = engine.isa();
    report_.texts = texts.tokenized.size();
    report_.text_tokens = texts.mean_tokens;
    report_.texts_are_made_up = texts.texts.empty();
  }

  // Powers of two up to what is granted, unless the caller said how many.
  Result<> find_threads() {
    report_.choice.threads = options_.engine.threads;
    if (options_.engine.threads > 0) return {};
    const int granted = granted_threads();
    for (int threads = 1; granted > 1; threads = std::min(2 * threads, granted)) {
      const ServedEngine model = TRY(load(threads));
      const LoadTexts texts = TRY(load_texts(*model.engine));
      const int batch_tokens = std::min(kThreadBatchTokens, options_.most_batch_tokens);
      const BatchPoint point = TRY(run_batches(*model.engine, texts, batch_tokens, step_, hooks_.stopped));
      report_.threads.push_back({threads, point.tokens_per_second});
      tell();
      if (threads == granted) break;
    }
    report_.choice.threads = report_.threads.empty() ? granted : choose_threads(report_.threads);
    return {};
  }

  Result<> sweep_batches(const Engine& engine, const LoadTexts& texts) {
    const BatchBounds bounds = {options_.slo_p99, texts.mean_tokens, options_.most_batch_tokens};
    const EngineMemory memory = engine.memory();
    const uint64_t fixed = engine.weight_bytes() + memory.tokenizer;
    const uint64_t available = process_memory().resident + available_memory_bytes();
    for (int batch_tokens = std::min(kFirstBatchTokens, options_.most_batch_tokens);; batch_tokens *= 2) {
      BatchPoint point = TRY(run_batches(engine, texts, batch_tokens, step_, hooks_.stopped));
      point.memory_bytes += fixed;
      point.memory_share = available > 0 ? static_cast<double>(point.memory_bytes) / static_cast<double>(available) : 0;
      report_.batches.push_back(point);
      tell();
      report_.batches_end = end_of_batches(report_.batches, bounds);
      if (!report_.batches_end.empty()) return {};
    }
  }

  LoadOptions load_options(int batch_tokens, int clients) const {
    LoadOptions load;
    load.scheduler.max_batch_tokens = batch_tokens;
    load.scheduler.max_concurrent_requests = 1 << 20;
    load.scheduler.max_queue_tokens = int64_t{1} << 40;
    load.clients = clients;
    load.seconds = step_;
    load.seed = options_.seed;
    return load;
  }

  Result<> sweep_clients(const ServedEngine& model, const LoadTexts& texts) {
    for (const int batch_tokens : batches_to_load(report_.batches, options_.slo_p99, kBatchesLoaded)) {
      TRY_VOID(find_clients(model, texts, batch_tokens));
    }
    return {};
  }

  // Of many measurements the best one was also lucky: what it promises is measured again, for longer.
  Result<> choose_clients(const ServedEngine& model, const LoadTexts& texts) {
    std::vector<LoadPoint> candidates = report_.closed;
    for (int tries = 0; tries < kConfirmations; ++tries) {
      const std::optional<LoadPoint> chosen = choose_load(candidates, options_.slo_p99);
      if (!chosen) return tries > 0 ? Result<>() : fail(ErrorCode::kInternal, "no batch was measured");
      LoadOptions load = load_options(chosen->batch_tokens, chosen->clients);
      load.seconds = kConfirmationSteps * step_;
      const LoadPoint point = TRY(run_load(model, texts, load, hooks_.stopped));
      tell();
      TuneChoice& choice = report_.choice;
      choice.batch_tokens = point.batch_tokens;
      choice.clients = point.clients;
      choice.p99 = point.p99;
      choice.requests_per_second = point.requests_per_second;
      choice.keeps_objective = point.p99 <= options_.slo_p99;
      if (choice.keeps_objective) return {};
      std::erase_if(candidates, [&point](const LoadPoint& each) {
        return each.batch_tokens == point.batch_tokens && each.clients >= point.clients;
      });
    }
    return {};
  }

  // Doubles the clients until the objective is lost, then tries the middle of the last step.
  Result<> find_clients(const ServedEngine& model, const LoadTexts& texts, int batch_tokens) {
    int within = 0;
    int clients = std::max(1, model.engine->threads());
    for (; clients <= kMostClients; clients *= 2) {
      LoadPoint point = TRY(run_clients(model, texts, batch_tokens, clients));
      if (point.p99 > options_.slo_p99) {
        // Once may be a neighbour's doing.
        report_.closed.pop_back();
        point = TRY(run_clients(model, texts, batch_tokens, clients));
      }
      if (point.p99 > options_.slo_p99) break;
      within = clients;
    }
    const int middle = (within + clients) / 2;
    if (middle > within && middle < clients) TRY_VOID(run_clients(model, texts, batch_tokens, middle));
    return {};
  }

  Result<LoadPoint> run_clients(const ServedEngine& model, const LoadTexts& texts, int batch_tokens, int clients) {
    const LoadPoint point = TRY(run_load(model, texts, load_options(batch_tokens, clients), hooks_.stopped));
    report_.closed.push_back(point);
    tell();
    return point;
  }

  Result<> sweep_delays(const ServedEngine& model, const LoadTexts& texts) {
    for (const int delay : kDelays) {
      LoadOptions load = load_options(report_.choice.batch_tokens, kBulkClients * model.engine->threads());
      load.is_bulk = true;
      load.scheduler.max_queue_delay[static_cast<size_t>(Priority::kBulk)] = std::chrono::microseconds(delay);
      report_.delays.push_back(TRY(run_load(model, texts, load, hooks_.stopped)));
      tell();
    }
    report_.choice.queue_delay_us = choose_delay(report_.delays);
    return {};
  }

  Result<> sweep_rates(const ServedEngine& model, const LoadTexts& texts) {
    for (const double share : kRates) {
      LoadOptions load = load_options(report_.choice.batch_tokens, 0);
      load.rate = share * report_.choice.requests_per_second;
      if (load.rate <= 0) return {};
      report_.open.push_back(TRY(run_load(model, texts, load, hooks_.stopped)));
      tell();
    }
    const LoadPoint* best = choose_rate(report_.open, options_.slo_p99);
    if (best == nullptr) return {};
    report_.choice.rate = best->rate;
    report_.choice.rate_p99 = best->p99;
    return {};
  }

  // How many measurements there will be is known only roughly.
  void tell() {
    ++done_;
    constexpr double kExpected = 47;
    if (hooks_.progress) hooks_.progress({done_, std::min(0.99, static_cast<double>(done_) / kExpected)});
  }

  static constexpr int kThreadBatchTokens = 512;
  const TuneOptions& options_;
  const JobHooks& hooks_;
  double step_;  // seconds of a measurement
  TuneReport report_;
  uint64_t done_ = 0;
};

}  // namespace

Result<TuneReport> run_tune(const TuneOptions& options, const JobHooks& hooks) { return Tuning(options, hooks).run(); }

}  // namespace inlay
