// The tensors of a head: what comes after an encoder, be it in the encoder's weight file or in a module's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/linear.h"
#include "backend/ops.h"
#include "base/result.h"
#include "base/team.h"
#include "weights/weight_store.h"

namespace inlay {

// Names are those of tensors without the prefix that some checkpoints put before all of them. Valid while the store lives.
class HeadWeights {
 public:
  HeadWeights(const WeightStore& store, const Kernels& kernels, Team& team) : store_(store), kernels_(kernels), team_(team) {}

  bool contains(std::string_view name) const { return find(name).has_value(); }
  // kCorrupt if it is missing or has another shape; the message says what was found and wanted.
  Result<const TensorView*> tensor(std::string_view name, const std::vector<int64_t>& shape) const;
  // The same of any shape.
  Result<const TensorView*> tensor(std::string_view name) const;
  Result<std::vector<float>> vector(std::string_view name, int size) const;
  // NAME.weight and NAME.bias; a bias that is missing is 0 if `needs_bias` is false.
  Result<NormWeights> norm(const std::string& name, int size, float eps, bool needs_bias = true) const;
  // NAME.weight [columns, k], and NAME.bias [columns] with `has_bias` (without a name: weight and bias); packed for fp32, since
  // heads work on few rows.
  Result<PackedLinear> linear(const std::string& name, int columns, int k, bool has_bias) const;

  const WeightStore& store() const { return store_; }

 private:
  // The tensor of this name, or the only one whose name ends in it after a dot.
  std::optional<std::string> find(std::string_view name) const;

  const WeightStore& store_;
  const Kernels& kernels_;
  Team& team_;
};

}  // namespace inlay
