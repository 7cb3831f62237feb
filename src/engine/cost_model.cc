#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>

namespace inlay {
namespace {

// Features are scaled to about 1 for a common batch, which keeps the covariance well conditioned.
constexpr double kTokens = 256;
constexpr double kSquares = 256 * 64;

constexpr double kStartVariance = 0.01;  // weights are some 0.1 s at most
constexpr double kForget = 0.99;         // some 100 batches are remembered
constexpr double kOutlier = 3;           // times the usual error
constexpr double kErrorRate = 0.05;
constexpr double kLeastError = 0.01;
constexpr double kLeastSeconds = 1e-6;

}  // namespace

CostModel::CostModel(const CostCoefficients& start) : weights_{start.a, start.b * kTokens, start.c * kSquares}, covariance_{} {
  for (int i = 0; i < 3; ++i) covariance_[i][i] = kStartVariance;
}

double CostModel::predict(int64_t tokens, int64_t squares) const {
  const double seconds =
      weights_[0] + weights_[1] * static_cast<double>(tokens) / kTokens + weights_[2] * static_cast<double>(squares) / kSquares;
  return std::max(seconds, kLeastSeconds);
}

void CostModel::observe(int64_t tokens, int64_t squares, double seconds) {
  const double scale = 1 / std::max(seconds, kLeastSeconds);
  const Vector x = {scale, scale * static_cast<double>(tokens) / kTokens, scale * static_cast<double>(squares) / kSquares};
  const double error = 1 - (weights_[0] * x[0] + weights_[1] * x[1] + weights_[2] * x[2]);
  const double bound = kOutlier * usual_error_;
  const double trust = std::min(1.0, bound / std::max(std::abs(error), 1e-12));
  usual_error_ += kErrorRate * (std::min(std::abs(error), bound) - usual_error_);
  usual_error_ = std::max(usual_error_, kLeastError);

  Vector gain;  // covariance * x
  for (int i = 0; i < 3; ++i) gain[i] = covariance_[i][0] * x[0] + covariance_[i][1] * x[1] + covariance_[i][2] * x[2];
  const double spread = x[0] * gain[0] + x[1] * gain[1] + x[2] * gain[2];
  const double divisor = kForget + trust * spread;
  double trace = 0;
  for (int i = 0; i < 3; ++i) {
    weights_[i] += trust * gain[i] * error / divisor;
    trace += covariance_[i][i];
  }
  // Batches that are all alike say nothing about some directions; forgetting there would let the covariance grow without end.
  const double growth = trace < 3 * kStartVariance ? 1 / kForget : 1;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) covariance_[i][j] = growth * (covariance_[i][j] - trust * gain[i] * gain[j] / divisor);
  }
}

CostCoefficients CostModel::coefficients() const { return {weights_[0], weights_[1] / kTokens, weights_[2] / kSquares}; }

}  // namespace inlay
