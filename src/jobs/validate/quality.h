// Figures of how far vectors are from a reference. Pure: numbers in, numbers out.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace inlay {

// Sum of the products of two vectors of one size, in one fixed order, so that equal vectors have equal products.
double dot_product(std::span<const float> a, std::span<const float> b);

// 1 - cosine, in [0, 2]. Of a vector of zeros and another one: 1; of two of them: 0.
double cosine_distance(std::span<const float> a, std::span<const float> b);

// Divides each of the rows of [rows, dimensions] by its length; rows of zeros stay.
void normalize_rows(std::vector<float>& matrix, size_t dimensions);

// The value below which a share of the sorted values lies, with straight lines between neighbours, as numpy.percentile has it.
// `share` in [0, 1]; 0 where there are no values.
double percentile(std::span<const double> sorted, double share);

struct Distribution {
  uint64_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};
Distribution distribution_of(std::vector<double> values);

// Counts of distances by size, four steps to a factor of ten: counts[0] holds those below 1e-8, counts[i] those in
// [edge(i - 1), edge(i)), the last one all from 1 up.
struct DistanceHistogram {
  static constexpr int kSteps = 4;
  static constexpr int kDecades = 8;
  static constexpr int kBuckets = kSteps * kDecades + 2;
  std::array<uint64_t, kBuckets> counts = {};

  void add(double distance);
  // The upper end of bucket `index`: 1e-8 of the first, 1 of the last but one.
  static double edge(int index);
};

}  // namespace inlay
