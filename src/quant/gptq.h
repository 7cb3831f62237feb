// GPTQ (Frantar et al. 2022): weights are rounded one input after another, and what rounding an input has cost is put right by
// the inputs that are still to come, as far as calibration inputs say that they go together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "quant/level_codes.h"

namespace inlay {

struct GptqOptions {
  int group = 32;
  // Inputs in the order of their size in the calibration texts, largest first. Groups stay groups of consecutive inputs, with
  // factors from the weights before any is changed, so that nothing has to be reordered when the layer runs.
  bool act_order = false;
  double damping = 0.01;  // share of the mean diagonal that is added to the diagonal
};

// What all output features of a layer share. Immutable; threads may round different rows at the same time.
class Gptq {
 public:
  // `hessian` [k, k] is the sum of x x^T over calibration inputs x; its scale does not matter. kInvalidArgument if it is not
  // finite. Memory: twice k^2 doubles while it is made, half as much afterwards.
  static Result<Gptq> make(std::span<const float> hessian, int k, const GptqOptions& options);

  // Rounds rows of weights [rows, k]; `out` has a LevelRow for each. kUnsupported if a weight has no code.
  Result<> round(std::span<const float> weights, std::span<LevelRow> out) const;

 private:
  class Tile;

  GptqOptions options_;
  int k_ = 0;
  std::vector<int> order_;      // the input that is rounded i-th
  std::vector<char> is_dead_;   // [k] in that order: never other than zero, so any weight will do
  std::vector<double> factor_;  // [k, k] in that order: upper triangular U, U^T U being the inverse of the damped Hessian
};

}  // namespace inlay
