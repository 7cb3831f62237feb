// Additions to attention scores that depend on how far apart query and key are.
#pragma once

#include <functional>

#include "base/result.h"
#include "tensor/buffer.h"

namespace inlay {

// ALiBi's slope of a head. Source: Press et al. 2021; for head counts that are no power of two the authors' interleaving.
float alibi_slope(int head, int heads);

// The bucket of key minus query, as T5 counts them: half of the buckets for each direction, half of those for single distances,
// the others growing with the logarithm up to `farthest`.
int distance_bucket(int distance, int buckets, int farthest);

// A table by head and distance, as AttentionOp reads it.
class DistanceBias {
 public:
  DistanceBias() = default;
  // Distances from -(positions - 1) to positions - 1. kTooLarge beyond a bound that keeps the table below 256 MB.
  static Result<DistanceBias> make(int heads, int positions, const std::function<float(int head, int distance)>& value);

  bool exists() const { return values_.size() > 0; }
  const float* centre() const { return values_.as<float>() + positions_ - 1; }  // of head 0, distance 0
  int64_t head_stride() const { return head_stride_; }

 private:
  Buffer values_;
  int positions_ = 0;
  int64_t head_stride_ = 0;
};

}  // namespace inlay
