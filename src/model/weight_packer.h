// The tensors of an encoder in the form it computes with. Architectures load their parts through this.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/embedding_table.h"
#include "backend/linear.h"
#include "backend/ops.h"
#include "model/encoder.h"
#include "weights/named_weights.h"

namespace inlay {

// A linear layer NAME.weight [columns, k], and NAME.bias [columns] if it has one.
struct LinearPart {
  std::string name;
  int columns = 0;
  bool has_bias = true;
  std::string weight = {};  // the name of the weights where it is another one
};

// A linear layer whose weights are not simply a tensor. Plans' visitors are not told of it. Of a plan that keeps floats it is
// packed in them, whatever the plan's format, unless all `tensors` are codes.
struct LinearRecipe {
  std::string name;  // of what is packed; another recipe gives another name
  int columns = 0;
  int k = 0;
  PackedLinear::RowSource row;
  std::vector<float> bias;           // empty: none
  std::vector<std::string> tensors;  // bare names of those that are not needed any more once it is packed
};

// Packs and converts as the plan says, or takes from plan.packed what was packed before, and lets the pages of what it copied
// go. Names are bare names of tensors; shapes are checked, whether or not the numbers are read.
class WeightPacker {
 public:
  // All must outlive this.
  WeightPacker(const NamedWeights& weights, const LoadPlan& plan, Team& team) : weights_(weights), plan_(plan), team_(team) {}

  Result<std::vector<float>> vector(const std::string& name, int size) const;
  // NAME.weight and NAME.bias.
  Result<NormWeights> norm(const std::string& name, int size, float eps) const;
  // The same without a bias.
  Result<NormWeights> norm_without_bias(const std::string& name, int size, float eps) const;
  // A root-mean-square norm that multiplies by NAME.weight + offset.
  Result<NormWeights> rms_norm(const std::string& name, int size, float eps, float offset = 0) const;
  Result<EmbeddingTable> table(const std::string& name, int rows, int columns) const;
  // Linear layers NAME.weight [columns, k] and NAME.bias [columns] that have the same input, as one: their output features
  // follow one another.
  Result<PackedLinear> linear(const std::vector<std::string>& names, int columns, int k) const;
  // The same for layers of different widths.
  Result<PackedLinear> linear(const std::vector<LinearPart>& parts, int k) const;
  Result<PackedLinear> linear(const LinearRecipe& recipe) const;

  const NamedWeights& weights() const { return weights_; }

 private:
  Result<PackedLinear> pack(const LinearRecipe& recipe, Format format, const LinearSource& source) const;

  const NamedWeights& weights_;
  const LoadPlan& plan_;
  Team& team_;
};

// All that packed bytes follow from: the version of this program, the weight files, and how `plan` packs.
std::string packed_key(const WeightStore& weights, const LoadPlan& plan);

}  // namespace inlay
