#include "jobs/latency_job.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "base/check.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

// Enough for the caches, the clocks and the memory of lanes.
constexpr int kWarmUpRuns = 50;

// Tokens of the text.
Result<size_t> embed_one(const Engine& engine, const std::string& text) {
  const TokenizedText tokens = TRY(engine.tokenize(text));
  const std::vector<Result<std::vector<float>>> vectors = engine.embed(std::span<const TokenizedText>(&tokens, 1));
  if (!vectors.front()) return tl::unexpected<Error>(vectors.front().error());
  return tokens.ids.size();
}

}  // namespace

double LatencyReport::percentile(double share) const {
  INLAY_CHECK(!seconds.empty() && share > 0 && share <= 1, "a percentile of no runs, or of a share outside (0, 1]");
  const size_t rank = static_cast<size_t>(std::ceil(share * static_cast<double>(seconds.size())));
  return seconds[std::clamp<size_t>(rank, 1, seconds.size()) - 1];
}

Result<LatencyReport> run_latency(const Engine& engine, const std::vector<std::string>& texts, int runs,
                                  const std::function<bool()>& stopped) {
  LatencyReport report;
  size_t tokens = 0;
  for (int run = -kWarmUpRuns; run < runs; ++run) {
    if (stopped && stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    const std::string& text = texts[static_cast<size_t>(run + kWarmUpRuns) % texts.size()];
    const Clock::time_point begin = Clock::now();
    const size_t count = TRY(embed_one(engine, text));
    if (run < 0) continue;
    report.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    tokens += count;
  }
  std::sort(report.seconds.begin(), report.seconds.end());
  report.tokens = static_cast<double>(tokens) / runs;
  return report;
}

}  // namespace inlay
