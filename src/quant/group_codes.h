// Weights of four bits with a scale for each group of consecutive inputs: the codes of one output feature, or of one row of an
// embedding table.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "tensor/coded_matrix.h"

namespace inlay {

constexpr int group_count(int k, int group) { return (k + group - 1) / group; }

// The scale with which the weight that is largest in magnitude becomes code 0, as near as fp16 comes; 0 for weights of zero.
// kUnsupported for weights that are not finite or too large for fp16.
Result<uint16_t> group_scale(std::span<const float> weights);

// The code of a weight under a symmetric scale: the nearest of -8..7, plus 8.
inline uint8_t group_code(float weight, float scale) {
  // A scale of zero belongs to weights of zero; the comparison is false for NaN too.
  const float steps = scale != 0 ? weight / scale : 0.0F;
  const float code = __builtin_nearbyintf(steps) + static_cast<float>(kMiddleCode);
  return static_cast<uint8_t>(code > 0 ? (code < 15 ? code : 15.0F) : 0.0F);
}

// Each weight to the nearest code of its group's symmetric scale. `out` is overwritten.
Result<> round_to_groups(std::span<const float> weights, int group, GroupedRow& out);

// The weights that the codes stand for.
void weights_of(const GroupedRow& row, int group, std::span<float> out);

}  // namespace inlay
