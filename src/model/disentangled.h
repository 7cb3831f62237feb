// DeBERTa's attention: to the product of query and key come those of a query with the key's relative position, and of a key
// with the query's.
#pragma once

#include <vector>

#include "backend/linear.h"
#include "backend/ops.h"
#include "model/encoder.h"

namespace inlay {

// The bucket of query minus key: small distances have their own, from a half of `buckets` on they grow with the logarithm up to
// `farthest`. Odd in `distance`.
int log_bucket(int distance, int buckets, int farthest);

class Disentangled {
 public:
  struct Parts {
    // By head, [2 * span, head_dim]: the projected relative positions that queries and keys are multiplied with. Empty: that
    // product is left out.
    std::vector<PackedLinear> for_queries;
    std::vector<PackedLinear> for_keys;
    std::vector<int> rows;  // of the matrices, by query minus key, from -(positions - 1) to positions - 1
    float scale = 1;        // of all scores
  };
  explicit Disentangled(Parts parts) : parts_(std::move(parts)) {}

  // As attention() of ops.h, in floats and with as many heads of keys as of queries. No text is longer than `positions`.
  void run(const Kernels& kernels, const Share& share, const AttentionOp& op) const;
  double flop_per_token(int length) const;
  void count(WeightBytes& bytes) const;

 private:
  struct Item;
  void run_item(const Kernels& kernels, Item& item) const;
  int row_of(int distance) const { return parts_.rows[static_cast<size_t>(distance) + parts_.rows.size() / 2]; }

  Parts parts_;
};

}  // namespace inlay
