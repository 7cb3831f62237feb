// A feed-forward block that is a mixture of experts: a router picks a few of many small blocks for each token.
#pragma once

#include <vector>

#include "backend/linear.h"
#include "base/team.h"
#include "model/encoder.h"

namespace inlay {

struct Expert {
  PackedLinear up;    // [intermediate, hidden]
  PackedLinear down;  // [hidden, intermediate]
};

class Experts {
 public:
  // `router` is [experts, hidden], `bias` [hidden].
  Experts(std::vector<Expert> experts, std::vector<float> router, std::vector<float> bias, int used, Activation activation);

  struct Rows {
    Operand input;  // [rows, hidden]
    Floats states;  // [rows, hidden]: what the router reads, and what is added to
    int rows = 0;
  };
  // states += bias + sum over the `used` likeliest experts of p * down(activation(up(x))); p is the softmax over all experts,
  // not scaled up again. Every token is computed alone, so its numbers do not depend on its neighbours. Runs the thread's
  // share.
  void add(const ComputePlan& plan, const Share& share, const Rows& rows) const;

  size_t experts() const { return experts_.size(); }
  double flop_per_token() const;
  void count(WeightBytes& bytes) const;

 private:
  struct Memory;
  void route(const float* x, Memory& memory) const;
  void run(const ComputePlan& plan, const Rows& rows, int row, Memory& memory) const;

  std::vector<Expert> experts_;
  std::vector<float> router_, bias_;
  int used_, hidden_, intermediate_;
  Activation activation_;
};

}  // namespace inlay
