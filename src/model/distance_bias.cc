#include "model/distance_bias.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace inlay {
namespace {

constexpr int64_t kMostNumbers = int64_t{64} << 20;

float slope_of_power(int head, int heads) { return static_cast<float>(std::exp2(-8.0 * (head + 1) / heads)); }

}  // namespace

float alibi_slope(int head, int heads) {
  int power = 1;
  while (2 * power <= heads) power *= 2;
  return head < power ? slope_of_power(head, power) : slope_of_power(2 * (head - power), 2 * power);
}

int distance_bucket(int distance, int buckets, int farthest) {
  const int half = buckets / 2;
  const int exact = half / 2;
  const int size = std::abs(distance);
  const int first = distance > 0 ? half : 0;
  if (size < exact) return first + size;
  const float ratio = std::log(static_cast<float>(size) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(farthest) / exact));
  return first + std::min(half - 1, exact + static_cast<int>(ratio * static_cast<float>(half - exact)));
}

Result<DistanceBias> DistanceBias::make(int heads, int positions, const std::function<float(int head, int distance)>& value) {
  DistanceBias bias;
  bias.positions_ = positions;
  bias.head_stride_ = int64_t{2} * positions + kBiasPadding;
  if (bias.head_stride_ * heads > kMostNumbers) {
    return fail(ErrorCode::kTooLarge, "a bias of {} heads for {} positions is beyond {} numbers", heads, positions,
                kMostNumbers);
  }
  bias.values_ = Buffer(static_cast<size_t>(bias.head_stride_ * heads) * sizeof(float));
  float* out = bias.values_.as<float>() + positions - 1;
  for (int head = 0; head < heads; ++head, out += bias.head_stride_) {
    for (int distance = 1 - positions; distance < positions; ++distance) out[distance] = value(head, distance);
  }
  return bias;
}

}  // namespace inlay
