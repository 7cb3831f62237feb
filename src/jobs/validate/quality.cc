#include "jobs/validate/quality.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace inlay {

double dot_product(std::span<const float> a, std::span<const float> b) {
  // Eight sums of their own, so that one addition need not wait for another.
  constexpr size_t kLanes = 8;
  INLAY_CHECK(a.size() == b.size(), "vectors of two sizes have no product");
  std::array<double, kLanes> sums = {};
  const size_t whole = a.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += double{a[i + lane]} * double{b[i + lane]};
  }
  for (size_t i = whole; i < a.size(); ++i) sums[i - whole] += double{a[i]} * double{b[i]};
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double cosine_distance(std::span<const float> a, std::span<const float> b) {
  const double squares_a = dot_product(a, a);
  const double squares_b = dot_product(b, b);
  if (squares_a == 0 || squares_b == 0) return squares_a == squares_b ? 0 : 1;
  return std::clamp(1 - dot_product(a, b) / std::sqrt(squares_a * squares_b), 0.0, 2.0);
}

void normalize_rows(std::vector<float>& matrix, size_t dimensions) {
  for (size_t begin = 0; begin < matrix.size(); begin += dimensions) {
    const std::span<float> row(matrix.data() + begin, dimensions);
    const double length = std::sqrt(dot_product(row, row));
    if (length == 0) continue;
    for (float& value : row) value = static_cast<float>(value / length);
  }
}

double percentile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (sorted[below + 1] - sorted[below]) * (place - static_cast<double>(below));
}

Distribution distribution_of(std::vector<double> values) {
  Distribution result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  result.count = values.size();
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  result.p50 = percentile(values, 0.50);
  result.p95 = percentile(values, 0.95);
  result.p99 = percentile(values, 0.99);
  result.max = values.back();
  return result;
}

double DistanceHistogram::edge(int index) { return std::pow(10.0, static_cast<double>(index) / kSteps - kDecades); }

void DistanceHistogram::add(double distance) {
  int bucket = 0;
  while (bucket < kBuckets - 1 && distance >= edge(bucket)) ++bucket;
  ++counts[static_cast<size_t>(bucket)];
}

}  // namespace inlay
