// Linear layers whose weights a file holds as codes: how they are packed without becoming floats in between.
#pragma once

#include <vector>

#include "backend/linear.h"
#include "model/encoder.h"
#include "tensor/coded_matrix.h"
#include "tensor/tensor_view.h"

namespace inlay {

// Layers that are packed as one: output features [begin, end) of the whole are the rows of `weights`.
struct LinearRows {
  const TensorView* weights = nullptr;
  int begin = 0;
  int end = 0;
};

// The format in which these are packed: that of the plan, but a layer that a quantised folder left in floats keeps them.
Format format_for(const LoadPlan& plan, const std::vector<LinearRows>& parts);

// The same of a layer whose weights are computed, from these tensors among others: floats unless all of them are codes.
Format format_of_recipe(const LoadPlan& plan, const std::vector<const TensorView*>& tensors);

// Reads the parts, and gives their codes as they are where `format` takes codes of their kind and all parts have them.
// The views must outlive what is returned.
LinearSource linear_source(const std::vector<LinearRows>& parts, int k, Format format);

}  // namespace inlay
