// The tensors of an encoder in the form it computes with. Architectures load their parts through this.
#pragma once

#include <string>
#include <vector>

#include "backend/embedding_table.h"
#include "backend/linear.h"
#include "backend/ops.h"
#include "model/encoder.h"
#include "weights/named_weights.h"

namespace inlay {

// Packs and converts as the plan says, or takes from plan.packed what was packed before, and lets the pages of what it copied
// go. Names are bare names of tensors; shapes are checked, whether or not the numbers are read.
class WeightPacker {
 public:
  // All must outlive this.
  WeightPacker(const NamedWeights& weights, const LoadPlan& plan, Team& team) : weights_(weights), plan_(plan), team_(team) {}

  Result<std::vector<float>> vector(const std::string& name, int size) const;
  // NAME.weight and NAME.bias.
  Result<NormWeights> norm(const std::string& name, int size, float eps) const;
  Result<EmbeddingTable> table(const std::string& name, int rows, int columns) const;
  // Linear layers NAME.weight [columns, k] and NAME.bias [columns] that have the same input, as one: their output features
  // follow one another.
  Result<PackedLinear> linear(const std::vector<std::string>& names, int columns, int k) const;

 private:
  LinearVisitor::Layer layer_of(const std::vector<std::string>& names, const PackedShape& shape) const;
  Result<PackedLinear> pack(const std::vector<std::string>& names, int columns, Format format, const PackedShape& shape,
                            const LinearSource& source) const;

  const NamedWeights& weights_;
  const LoadPlan& plan_;
  Team& team_;
};

// All that packed bytes follow from: the version of this program, the weight files, and how `plan` packs.
std::string packed_key(const WeightStore& weights, const LoadPlan& plan);

}  // namespace inlay
