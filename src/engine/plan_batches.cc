#include <algorithm>
#include <numeric>

#include "engine/engine.h"

namespace inlay {

std::vector<std::vector<uint32_t>> plan_batches(std::span<const int> lengths, int max_batch_tokens) {
  std::vector<uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<uint32_t>> batches;
  int tokens = 0;
  for (const uint32_t index : order) {
    if (batches.empty() || tokens + lengths[index] > max_batch_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(index);
    tokens += lengths[index];
  }
  return batches;
}

}  // namespace inlay
