// Weights as levels of four bits: the codes, factors and scale of one output feature, or of one row of an embedding table.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "tensor/coded_matrix.h"
#include "tensor/levels.h"

namespace inlay {

// The scale with which the weight that is largest in magnitude becomes kHighestLevelWeight; 0 for weights of zero.
// kUnsupported for weights that are not finite.
Result<float> level_scale(std::span<const float> weights);

// The factor under which the levels come closest to the weights of a group, by squared error; the lowest of several. Never 0.
int best_factor(std::span<const float> weights, float scale);

// The code whose weight under a factor is the nearest; the lowest of several.
uint8_t level_code(float weight, float scale, int factor);

// The best factor for each group, and each weight to its nearest level. `out` is overwritten.
Result<> round_to_levels(std::span<const float> weights, int group, LevelRow& out);

// What the codes stand for: as floats, and as the int8 that `scale` belongs to.
void weights_of(const LevelRow& row, int group, std::span<float> out);
void bytes_of(const LevelRow& row, int group, std::span<int8_t> out);

}  // namespace inlay
