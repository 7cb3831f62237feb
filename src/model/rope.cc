#include "model/rope.h"

#include <algorithm>
#include <cmath>

namespace inlay {
namespace {

constexpr double kPi = 3.14159265358979323846;

// theta^(-2j/d) with the roundings of the reference: exponent, power and quotient are floats.
float plain_frequency(double theta, int pair, int rotary) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(rotary);
  return 1.0F / static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
}

// NTK-aware scaling by the length of the text.
double dynamic_theta(const RopeConfig& c, int rotary, int length) {
  if (length <= c.original_positions) return c.theta;
  const double stretch = c.factor * length / c.original_positions - (c.factor - 1);
  return c.theta * std::pow(stretch, rotary / (rotary - 2.0));
}

// Long waves are stretched, short ones kept, and those between are mixed.
float llama3_frequency(const RopeConfig& c, float frequency) {
  const double wave = 2 * kPi / static_cast<double>(frequency);
  if (wave < c.original_positions / c.high_factor) return frequency;
  if (wave > c.original_positions / c.low_factor) return static_cast<float>(static_cast<double>(frequency) / c.factor);
  const double smooth = (c.original_positions / wave - c.low_factor) / (c.high_factor - c.low_factor);
  const double value = static_cast<double>(frequency);
  return static_cast<float>((1 - smooth) * value / c.factor + smooth * value);
}

// The same idea with a ramp between two numbers of turns over the original length. Source: Peng et al. 2023.
float yarn_frequency(const RopeConfig& c, float frequency, int pair, int rotary) {
  const auto pair_of = [&](double turns) {
    return rotary * std::log(c.original_positions / (turns * 2 * kPi)) / (2 * std::log(c.theta));
  };
  double low = pair_of(c.beta_fast);
  double high = pair_of(c.beta_slow);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, rotary - 1.0);
  if (low == high) high += 0.001;
  const double stretched = std::clamp((pair - low) / (high - low), 0.0, 1.0);
  const double value = static_cast<double>(frequency);
  return static_cast<float>(value / c.factor * stretched + value * (1 - stretched));
}

}  // namespace

std::vector<float> rope_frequencies(const RopeConfig& config, int rotary, int length) {
  std::vector<float> frequencies(static_cast<size_t>(rotary / 2));
  for (int pair = 0; pair < rotary / 2; ++pair) {
    const float plain = plain_frequency(config.theta, pair, rotary);
    float& frequency = frequencies[static_cast<size_t>(pair)];
    switch (config.kind) {
      case RopeConfig::Kind::kDefault: frequency = plain; break;
      case RopeConfig::Kind::kLinear: frequency = plain / static_cast<float>(config.factor); break;
      case RopeConfig::Kind::kNtk:
        frequency = plain_frequency(config.theta * config.factor, pair, rotary) /
                    static_cast<float>(std::pow(config.factor, 2.0 / rotary));
        break;
      case RopeConfig::Kind::kDynamic: frequency = plain_frequency(dynamic_theta(config, rotary, length), pair, rotary); break;
      case RopeConfig::Kind::kLlama3: frequency = llama3_frequency(config, plain); break;
      case RopeConfig::Kind::kYarn: frequency = yarn_frequency(config, plain, pair, rotary); break;
    }
  }
  return frequencies;
}

RopeTable::RopeTable(const RopeConfig& config, int rotary, int max_positions)
    : config_(config),
      half_(rotary / 2),
      base_(rope_frequencies(config, rotary, 0)),
      blocks_(static_cast<size_t>((max_positions + kBlock - 1) / kBlock)) {}

void RopeTable::compute(const std::vector<float>& frequencies, int position, float* row) const {
  const float factor = static_cast<float>(config_.attention_factor);
  for (int pair = 0; pair < half_; ++pair) {
    const float angle = static_cast<float>(position) * frequencies[static_cast<size_t>(pair)];
    row[pair] = std::cos(angle) * factor;
    row[half_ + pair] = std::sin(angle) * factor;
  }
}

void RopeTable::grow(int positions) const {
  if (grown_.load(std::memory_order_acquire) >= positions) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  int grown = grown_.load(std::memory_order_relaxed);
  for (; grown < positions; grown += kBlock) {
    Buffer block(static_cast<size_t>(kBlock) * 2 * half_ * sizeof(float));
    for (int i = 0; i < kBlock; ++i) compute(base_, grown + i, block.as<float>() + static_cast<int64_t>(i) * 2 * half_);
    blocks_[static_cast<size_t>(grown / kBlock)] = std::move(block);
  }
  grown_.store(grown, std::memory_order_release);
}

}  // namespace inlay
