#include "jobs/bench_job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process.h"
#include "jobs/engine_stages.h"
#include "jobs/peak.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Fills what does not depend on the rounds.
Result<> count_work(const Engine& engine, const std::vector<std::string>& texts, BenchReport& report) {
  std::vector<int> lengths;
  const Clock::time_point begin = Clock::now();
  for (const std::string& text : texts) {
    const TokenizedText tokens = TRY(engine.tokenize(text));
    lengths.push_back(static_cast<int>(tokens.ids.size()));
  }
  report.tokenize_seconds = seconds_since(begin);
  report.flop = engine.flop(lengths);
  return {};
}

uint64_t bytes_of(const std::vector<std::string>& texts) {
  uint64_t sum = 0;
  for (const std::string& text : texts) sum += text.size();
  return sum;
}

// Round `round` of `rounds`, for the share that is done.
Result<BulkReport> run_round(const std::vector<std::string>& texts, EngineStages& lanes, const JobHooks& hooks, int round,
                             int rounds) {
  BulkStages stages;
  lanes.install(stages);
  size_t next = 0;
  stages.read = [&]() -> Result<std::optional<TextRow>> {
    if (next == texts.size()) return std::nullopt;
    const uint64_t line = next + 1;
    return TextRow{line, {}, texts[next++]};
  };
  stages.write = [](uint64_t, const TextRow&, std::span<const float>) { return Result<>(); };
  stages.stopped = hooks.stopped;
  const double bytes = static_cast<double>(bytes_of(texts));
  stages.progress = [&](const BulkProgress& progress) {
    const double share = (round + static_cast<double>(progress.bytes_done) / bytes) / (rounds + 1);
    const uint64_t before = static_cast<uint64_t>(round) * texts.size();
    if (hooks.progress) hooks.progress({before + progress.texts_done, share});
  };
  return run_bulk(lanes.options(), stages);
}

}  // namespace

double BenchReport::best_seconds() const { return *std::min_element(seconds.begin(), seconds.end()); }

double BenchReport::median_seconds() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Result<std::vector<std::string>> read_all_texts(TextReader& reader) {
  std::vector<std::string> texts;
  while (std::optional<TextRow> row = TRY(reader.next())) texts.push_back(TRY(std::move(row->text)));
  if (texts.empty()) return fail(ErrorCode::kInvalidArgument, "{}: no texts", reader.name());
  return texts;
}

Result<BenchReport> run_bench(const Engine& engine, const std::vector<std::string>& texts, int rounds, const JobHooks& hooks) {
  BenchReport report;
  TRY_VOID(count_work(engine, texts, report));
  EngineStages lanes(engine);
  for (int round = 0; round <= rounds; ++round) {
    // Clocks drift with heat and neighbours, so the peak is asked beside every round and the best one is kept, as of the
    // rounds.
    report.peak = std::max(report.peak, measure_peak(engine.threads(), engine.precision()));
    const Clock::time_point begin = Clock::now();
    const BulkReport rows = TRY(run_round(texts, lanes, hooks, round, rounds));
    if (round > 0) report.seconds.push_back(seconds_since(begin));
    report.texts = rows.texts;
    report.tokens = rows.tokens;
    report.truncated = rows.truncated;
    report.batch_fill = static_cast<double>(rows.tokens) /
                        (static_cast<double>(rows.batches) * static_cast<double>(lanes.options().max_batch_tokens));
  }
  report.peak_resident_bytes = peak_resident_bytes();
  return report;
}

}  // namespace inlay
