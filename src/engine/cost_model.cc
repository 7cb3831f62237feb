#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>

namespace inlay {
namespace {

// Features are scaled to about 1 for a common batch, which keeps the covariance well conditioned.
constexpr double kTokens = 256;
constexpr double kSquares = 256 * 64;
// Where products take as long as the weights: some 50 operations for each byte, on machines of today in all precisions.
constexpr double kFewTokens = 24;

constexpr double kStartVariance = 0.01;  // weights are some 0.1 s at most
constexpr double kForget = 0.99;         // some 100 batches are remembered
constexpr double kOutlier = 3;           // times the usual error
constexpr double kErrorRate = 0.05;
constexpr double kLeastError = 0.01;
constexpr double kLeastSeconds = 1e-6;

double dot(const std::array<double, 4>& x, const std::array<double, 4>& y) {
  return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3];
}

}  // namespace

CostModel::Vector CostModel::features(int64_t tokens, int64_t squares) {
  const double count = static_cast<double>(tokens);
  return {1, count / kTokens, static_cast<double>(squares) / kSquares, std::max(0.0, 1 - count / kFewTokens)};
}

CostModel::CostModel(const CostCoefficients& start)
    : weights_{start.a, start.b * kTokens, start.c * kSquares, start.d}, covariance_{} {
  for (size_t i = 0; i < weights_.size(); ++i) covariance_[i][i] = kStartVariance;
}

double CostModel::predict(int64_t tokens, int64_t squares) const {
  return std::max(dot(weights_, features(tokens, squares)), kLeastSeconds);
}

void CostModel::observe(int64_t tokens, int64_t squares, double seconds) {
  Vector x = features(tokens, squares);
  for (double& feature : x) feature /= std::max(seconds, kLeastSeconds);
  const double error = 1 - dot(weights_, x);
  const double bound = kOutlier * usual_error_;
  const double trust = std::min(1.0, bound / std::max(std::abs(error), 1e-12));
  usual_error_ += kErrorRate * (std::min(std::abs(error), bound) - usual_error_);
  usual_error_ = std::max(usual_error_, kLeastError);

  Vector gain;  // covariance * x
  for (size_t i = 0; i < gain.size(); ++i) gain[i] = dot(covariance_[i], x);
  const double divisor = kForget + trust * dot(x, gain);
  double trace = 0;
  for (size_t i = 0; i < gain.size(); ++i) {
    weights_[i] += trust * gain[i] * error / divisor;
    trace += covariance_[i][i];
  }
  // Batches that are all alike say nothing about some directions; forgetting there would let the covariance grow without end.
  const double growth = trace < static_cast<double>(gain.size()) * kStartVariance ? 1 / kForget : 1;
  for (size_t i = 0; i < gain.size(); ++i) {
    for (size_t j = 0; j < gain.size(); ++j)
      covariance_[i][j] = growth * (covariance_[i][j] - trust * gain[i] * gain[j] / divisor);
  }
}

CostCoefficients CostModel::coefficients() const {
  return {weights_[0], weights_[1] / kTokens, weights_[2] / kSquares, weights_[3]};
}

}  // namespace inlay
