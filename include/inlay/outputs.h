// What models give besides one vector a text.
#pragma once

#include <cstdint>
#include <vector>

namespace inlay {

struct SparseWeight {
  int32_t id = 0;  // of the vocabulary
  float weight = 0;
};
using SparseVector = std::vector<SparseWeight>;  // ids ascend, weights are above 0

// One vector for each token.
struct TokenVectors {
  int columns = 0;
  std::vector<int32_t> ids;   // of the tokens that have a vector
  std::vector<float> values;  // [ids, columns]
};

}  // namespace inlay
