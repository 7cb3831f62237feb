// The blocks that end in a sum with the hidden states.
#pragma once

#include "model/encoder.h"

namespace inlay {

// hidden += norm(weights * input) for rows [begin, begin + rows); without the norm if it does not exist. The norm's rows go
// through workspace.normed(). Ends with a meeting of the team.
struct AddProduct {
  const PackedLinear& weights;
  const NormWeights& result_norm;
  Operand input;  // of row `begin` on
  int begin = 0;
  int rows = 0;
};
void add_product(const Kernels& kernels, const Share& share, const AddProduct& op, Workspace& workspace);

struct FeedForward {
  const PackedLinear& up;
  const PackedLinear& down;
  const NormWeights& result_norm;
  Activation activation = Activation::kGelu;
  bool is_gated = false;
  bool activates_first = true;
};

struct FeedInput {
  Operand rows;
  int tokens = 0;
};

// hidden += norm(down * act(up * input)), or with a gated activation. Ends with a meeting of the team.
void feed_forward(const ComputePlan& plan, const Share& share, const FeedForward& block, const FeedInput& input,
                  Workspace& workspace);

}  // namespace inlay
