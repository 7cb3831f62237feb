// The tensors of one encoder by the names its code uses. Checkpoints put one prefix before all of them ("bert.",
// "0.auto_model.", ...) depending on the class that saved them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/weight_store.h"

namespace inlay {

// Valid while the store lives. Immutable, so any thread may read.
class NamedWeights {
 public:
  // Finds the prefix under which `probe` ("embeddings.word_embeddings.weight") lies. kCorrupt if it lies nowhere, or under
  // several prefixes of which none is a usual one.
  static Result<NamedWeights> match(const WeightStore& store, std::string_view probe);

  // The tensor `bare`, which must have this shape and a float type (F32, F16, BF16, F64) or be coded. Old checkpoints spell
  // ".weight" and ".bias" of norms ".gamma" and ".beta"; both are found under the new name. A missing tensor or another shape
  // is kCorrupt, another type kUnsupported; the message names file, tensor, what was found and what was wanted.
  Result<const TensorView*> require(std::string_view bare, const std::vector<int64_t>& shape) const;
  // The same, but a missing tensor is nullptr.
  Result<const TensorView*> optional(std::string_view bare, const std::vector<int64_t>& shape) const;

  // Full names of tensors that neither `known` (asked with bare names in their new spelling) nor the rule for leftovers
  // accepts: buffers, poolers and heads that an encoder doesn't use. What remains hints at another architecture. Sorted.
  std::vector<std::string> unexpected(const std::function<bool(std::string_view bare)>& known) const;

  std::string_view prefix() const { return prefix_; }
  // The name in the store, in the spelling found there; for a missing tensor the new spelling.
  std::string full_name(std::string_view bare) const;
  const WeightStore& store() const { return *store_; }

 private:
  NamedWeights(const WeightStore& store, std::string prefix) : store_(&store), prefix_(std::move(prefix)) {}

  const WeightStore* store_;
  std::string prefix_;
};

}  // namespace inlay
