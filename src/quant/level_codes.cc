#include "quant/level_codes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "quant/group_codes.h"

namespace inlay {
namespace {

constexpr int kFactors = kHighestFactor - kLowestFactor + 1;
// Of the scale. Half way between two whole weights is a whole number of them: within one, the nearest weight is always the
// same.
constexpr int kHalfSteps = 2 * kHighestLevelWeight;

float steps_of(float weight, float scale) { return scale != 0 ? weight / scale : 0.0F; }

uint8_t nearest_code(float steps, int factor) {
  int best = 0;
  float best_error = INFINITY;
  for (int code = 0; code < 16; ++code) {
    const float error = std::abs(steps - static_cast<float>(level_weight(code, factor)));
    if (error < best_error) best = code;
    best_error = std::min(best_error, error);
  }
  return static_cast<uint8_t>(best);
}

// The nearest weight under each factor, by half step, so that trying a factor is a look-up for each weight.
class NearestWeights {
 public:
  NearestWeights() {
    for (int factor = kLowestFactor; factor <= kHighestFactor; ++factor) {
      for (int i = -kHalfSteps; i < kHalfSteps; ++i) {
        const int code = nearest_code((static_cast<float>(i) + 0.5F) / 2, factor);
        weights_[factor - kLowestFactor][i + kHalfSteps] = static_cast<float>(level_weight(code, factor));
      }
    }
  }
  const float* under(int factor) const { return weights_[factor - kLowestFactor].data() + kHalfSteps; }

 private:
  std::array<std::array<float, 2 * kHalfSteps>, kFactors> weights_;
};

const NearestWeights& nearest_weights() {
  static const NearestWeights table;
  return table;
}

int half_step(float steps) {
  constexpr float kFirst = -kHalfSteps;
  constexpr float kLast = kHalfSteps - 1;
  return static_cast<int>(std::floor(std::clamp(2 * steps, kFirst, kLast)));
}

}  // namespace

Result<float> level_scale(std::span<const float> weights) {
  float extreme = 0;
  for (const float weight : weights) {
    if (!std::isfinite(weight)) return fail(ErrorCode::kUnsupported, "weight {} has no 4-bit code", weight);
    if (std::abs(weight) > std::abs(extreme)) extreme = weight;
  }
  return extreme / static_cast<float>(kHighestLevelWeight);
}

int best_factor(std::span<const float> weights, float scale) {
  const NearestWeights& nearest = nearest_weights();
  std::array<double, kFactors> errors = {};
  for (const float weight : weights) {
    const float steps = steps_of(weight, scale);
    const int at = half_step(steps);
    for (int f = 0; f < kFactors; ++f) {
      const double error = static_cast<double>(steps) - static_cast<double>(nearest.under(f + kLowestFactor)[at]);
      errors[f] += error * error;
    }
  }
  errors[-kLowestFactor] = INFINITY;
  return static_cast<int>(std::min_element(errors.begin(), errors.end()) - errors.begin()) + kLowestFactor;
}

uint8_t level_code(float weight, float scale, int factor) { return nearest_code(steps_of(weight, scale), factor); }

Result<> round_to_levels(std::span<const float> weights, int group, LevelRow& out) {
  out.scale = TRY(level_scale(weights));
  out.codes.resize(weights.size());
  out.factors.resize(static_cast<size_t>(group_count(static_cast<int>(weights.size()), group)));
  for (size_t g = 0; g < out.factors.size(); ++g) {
    const size_t begin = g * static_cast<size_t>(group);
    const std::span<const float> members = weights.subspan(begin, std::min<size_t>(group, weights.size() - begin));
    const int factor = best_factor(members, out.scale);
    out.factors[g] = static_cast<int8_t>(factor);
    for (size_t i = 0; i < members.size(); ++i) out.codes[begin + i] = level_code(members[i], out.scale, factor);
  }
  return {};
}

void weights_of(const LevelRow& row, int group, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = row.scale * static_cast<float>(level_weight(row.codes[i], row.factors[i / static_cast<size_t>(group)]));
}

void bytes_of(const LevelRow& row, int group, std::span<int8_t> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int8_t>(level_weight(row.codes[i], row.factors[i / static_cast<size_t>(group)]));
}

}  // namespace inlay
