// Predicts how long a batch computes, learning from every batch that ran.
#pragma once

#include <array>
#include <cstdint>

namespace inlay {

// seconds = a + b * tokens + c * sum of the squared lengths + d * max(0, 1 - tokens / 24): linear layers cost by the token,
// attention by the pair of tokens, and a batch of few tokens waits for the weights, behind which its products hide. Without the
// last term the others are bent: c came out ten times too large beside short queries.
struct CostCoefficients {
  double a = 1e-3;
  double b = 2e-4;
  double c = 1e-7;
  double d = 0;
};

// Recursive least squares on relative errors, so that small batches count as much as large ones. Old batches are forgotten
// slowly, and an outlier (a descheduled thread) moves the fit no more than an error of the usual size would. Not thread-safe.
class CostModel {
 public:
  explicit CostModel(const CostCoefficients& start = {});

  double predict(int64_t tokens, int64_t squares) const;  // seconds, above 0
  void observe(int64_t tokens, int64_t squares, double seconds);

  CostCoefficients coefficients() const;
  // Usual absolute relative error of predictions.
  double usual_error() const { return usual_error_; }

 private:
  using Vector = std::array<double, 4>;
  static Vector features(int64_t tokens, int64_t squares);

  Vector weights_;
  std::array<Vector, 4> covariance_;
  double usual_error_ = 1;
};

}  // namespace inlay
