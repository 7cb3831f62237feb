#include "quant/group_codes.h"

#include <algorithm>
#include <cmath>

#include "tensor/half.h"

namespace inlay {

Result<uint16_t> group_scale(std::span<const float> weights) {
  float extreme = 0;
  for (const float weight : weights) {
    if (!std::isfinite(weight)) return fail(ErrorCode::kUnsupported, "weight {} has no 4-bit code", weight);
    if (std::abs(weight) > std::abs(extreme)) extreme = weight;
  }
  // Of -8..7 the side that reaches further takes the extreme, so the scale has the other sign.
  const float scale = extreme / -static_cast<float>(kMiddleCode);
  if (std::abs(scale) > kFp16Max) return fail(ErrorCode::kUnsupported, "weight {} is too large for groups of 4 bits", extreme);
  return float_to_fp16(scale);
}

Result<> round_to_groups(std::span<const float> weights, int group, GroupedRow& out) {
  const int k = static_cast<int>(weights.size());
  out.codes.resize(weights.size());
  out.scales.resize(static_cast<size_t>(group_count(k, group)));
  out.zeros.clear();
  for (size_t g = 0; g < out.scales.size(); ++g) {
    const size_t begin = g * static_cast<size_t>(group);
    const std::span<const float> members = weights.subspan(begin, std::min<size_t>(group, weights.size() - begin));
    out.scales[g] = TRY(group_scale(members));
    const float scale = fp16_to_float(out.scales[g]);
    for (size_t i = 0; i < members.size(); ++i) out.codes[begin + i] = group_code(members[i], scale);
  }
  return {};
}

void weights_of(const GroupedRow& row, int group, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t g = i / static_cast<size_t>(group);
    const int zero = row.zeros.empty() ? kMiddleCode : row.zeros[g];
    out[i] = fp16_to_float(row.scales[g]) * static_cast<float>(row.codes[i] - zero);
  }
}

}  // namespace inlay
