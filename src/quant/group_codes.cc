#include "quant/group_codes.h"

#include "tensor/half.h"

namespace inlay {

void weights_of(const GroupedRow& row, int group, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t g = i / static_cast<size_t>(group);
    const int zero = row.zeros.empty() ? kMiddleCode : row.zeros[g];
    out[i] = fp16_to_float(row.scales[g]) * static_cast<float>(row.codes[i] - zero);
  }
}

}  // namespace inlay
