// For tests: the numbers of a tensor.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tensor/tensor_view.h"

namespace inlay {

inline std::vector<float> floats_of(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.element_count()));
  EXPECT_TRUE(to_float(view, 0, values).has_value());
  return values;
}

}  // namespace inlay
