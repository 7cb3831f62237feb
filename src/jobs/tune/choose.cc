#include <algorithm>

#include "jobs/tune/tune_report.h"

namespace inlay {
namespace {

constexpr double kFlatGain = 1.03;
constexpr double kMostMemoryShare = 0.8;
constexpr double kLeastTexts = 32;
constexpr double kWorthLoading = 0.90;
constexpr double kEnoughThreads = 0.97;
constexpr double kAsGood = 0.98;
constexpr int kConfirmations = 3;

bool is_flat(std::span<const BatchPoint> points) {
  if (points.size() < 3) return false;
  const std::span<const BatchPoint> last = points.last(3);
  return last[1].tokens_per_second < kFlatGain * last[0].tokens_per_second &&
         last[2].tokens_per_second < kFlatGain * std::max(last[0].tokens_per_second, last[1].tokens_per_second);
}

// Memory grows with the batch: as much again as the last doubling added, twice.
double next_memory_share(std::span<const BatchPoint> points) {
  const double last = points.back().memory_share;
  if (points.size() < 2) return last;
  return last + 2 * std::max(0.0, last - points[points.size() - 2].memory_share);
}

double best_throughput(std::span<const LoadPoint> points) {
  double best = 0;
  for (const LoadPoint& point : points) best = std::max(best, point.requests_per_second);
  return best;
}

}  // namespace

std::string end_of_batches(std::span<const BatchPoint> points, const BatchBounds& bounds) {
  if (points.empty()) return {};
  const BatchPoint& last = points.back();
  if (2 * last.batch_tokens > bounds.most_tokens) return "the largest batch there is";
  if (next_memory_share(points) > kMostMemoryShare) return "the next would take more than 80 % of the memory";
  if (last.p50 > bounds.slo_p99) return "a batch alone takes longer than the objective";
  if (last.batch_tokens >= kLeastTexts * bounds.text_tokens && is_flat(points)) return "the curve is flat";
  return {};
}

std::vector<int> batches_to_load(std::span<const BatchPoint> points, double slo_p99, size_t count) {
  std::vector<BatchPoint> within;
  for (const BatchPoint& point : points) {
    if (point.p50 < slo_p99) within.push_back(point);
  }
  const auto slower = [](const BatchPoint& a, const BatchPoint& b) { return a.tokens_per_second < b.tokens_per_second; };
  if (within.empty() && !points.empty())
    return {std::min_element(points.begin(), points.end(), [](const BatchPoint& a, const BatchPoint& b) {
              return a.p50 < b.p50;
            })->batch_tokens};
  if (within.empty()) return {};
  const double best = std::max_element(within.begin(), within.end(), slower)->tokens_per_second;
  std::erase_if(within, [best](const BatchPoint& point) { return point.tokens_per_second < kWorthLoading * best; });
  std::stable_sort(within.begin(), within.end(), [&slower](const BatchPoint& a, const BatchPoint& b) { return slower(b, a); });
  std::vector<int> batches;
  for (const BatchPoint& point : within) {
    if (batches.size() < count) batches.push_back(point.batch_tokens);
  }
  std::sort(batches.begin(), batches.end());
  return batches;
}

int choose_threads(std::span<const ThreadPoint> points) {
  double best = 0;
  for (const ThreadPoint& point : points) best = std::max(best, point.tokens_per_second);
  for (const ThreadPoint& point : points) {
    if (point.tokens_per_second >= kEnoughThreads * best) return point.threads;
  }
  return 0;
}

std::optional<LoadPoint> choose_load(std::span<const LoadPoint> closed, double slo_p99) {
  if (closed.empty()) return std::nullopt;
  std::vector<LoadPoint> within;
  for (const LoadPoint& point : closed) {
    if (point.p99 <= slo_p99) within.push_back(point);
  }
  const auto quicker = [](const LoadPoint& a, const LoadPoint& b) { return a.p99 < b.p99; };
  if (within.empty()) return *std::min_element(closed.begin(), closed.end(), quicker);
  const double best = best_throughput(within);
  std::erase_if(within, [best](const LoadPoint& point) { return point.requests_per_second < kAsGood * best; });
  return *std::min_element(within.begin(), within.end(), [&quicker](const LoadPoint& a, const LoadPoint& b) {
    return a.batch_tokens != b.batch_tokens ? a.batch_tokens > b.batch_tokens : quicker(a, b);
  });
}

Result<LoadPoint> confirm_load(std::vector<LoadPoint> closed, double slo_p99, const MeasureAgain& again) {
  std::optional<LoadPoint> nearest;
  for (int tries = 0; tries < kConfirmations; ++tries) {
    const std::optional<LoadPoint> chosen = choose_load(closed, slo_p99);
    if (!chosen || (nearest && chosen->p99 > slo_p99)) break;
    const LoadPoint point = TRY(again(*chosen));
    if (point.p99 <= slo_p99) return point;
    if (!nearest || point.p99 < nearest->p99) nearest = point;
    std::erase_if(closed, [&point](const LoadPoint& each) { return each.clients >= point.clients; });
  }
  if (!nearest) return fail(ErrorCode::kInternal, "no batch was measured");
  return *nearest;
}

int choose_delay(std::span<const LoadPoint> delays) {
  const double best = best_throughput(delays);
  int shortest = 0;
  bool is_found = false;
  for (const LoadPoint& point : delays) {
    if (point.requests_per_second < kAsGood * best) continue;
    if (!is_found || point.queue_delay_us < shortest) shortest = point.queue_delay_us;
    is_found = true;
  }
  return shortest;
}

const LoadPoint* choose_rate(std::span<const LoadPoint> open, double slo_p99) {
  const LoadPoint* chosen = nullptr;
  for (const LoadPoint& point : open) {
    if (point.p99 > slo_p99 || point.rejected > 0) break;
    chosen = &point;
  }
  return chosen;
}

}  // namespace inlay
