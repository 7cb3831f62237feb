// From hidden states to one vector a text: pooling and the modules after it, in the order of modules.json.
#pragma once

#include <optional>
#include <span>

#include "base/result.h"
#include "model/encoder.h"
#include "model/model_spec.h"
#include "model/row_steps.h"

namespace inlay {

// Writes the pooled states of one text, [modes * hidden_size], to `out`. `hidden` is the text's first row. Tokens before
// `prompt_tokens` are left out, but keep their weight for kWeightedMean; prompt_tokens < tokens.
void pool(const PoolingSpec& spec, Floats hidden, int hidden_size, int tokens, int prompt_tokens, float* out);

// Changes to what the folder says.
struct HeadOptions {
  bool keep_normalize = true;     // false: Normalize modules are left out
  bool final_normalize = false;   // normalise at the very end
  std::optional<int> dimensions;  // keep this many leading numbers, then normalise if the folder or final_normalize asks for it
};

// Adds the steps of modules; none of them is kPooling.
Result<> add_modules(std::span<const ModuleSpec> specs, const Kernels& kernels, Team& team, RowSteps& steps);

// Immutable after loading; apply() may run in any number of threads with memory of their own.
class Head {
 public:
  static Result<Head> load(const ModelSpec& spec, const HeadOptions& options, const Kernels& kernels, Team& team);

  int dimensions() const { return dimensions_; }
  uint64_t weight_bytes() const { return steps_.weight_bytes(); }

  // Runs on the calling thread. `out` is [texts, dimensions()].
  void apply(const PackedBatch& batch, std::span<const int> prompt_tokens, Floats hidden, RowMemory& memory, float* out) const;

 private:
  int hidden_size_ = 0;
  PoolingSpec pooling_;
  RowSteps steps_;  // after pooling
  int dimensions_ = 0;
  bool final_normalize_ = false;
};

}  // namespace inlay
