// From hidden states to one vector a text: pooling and the modules after it, in the order of modules.json.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/linear.h"
#include "backend/ops.h"
#include "base/result.h"
#include "model/encoder.h"
#include "model/model_spec.h"

namespace inlay {

// Writes the pooled states of one text, [modes * hidden_size], to `out`. `hidden` is the text's first row. Tokens before
// `prompt_tokens` are left out, but keep their weight for kWeightedMean; prompt_tokens < tokens.
void pool(const PoolingSpec& spec, Floats hidden, int hidden_size, int tokens, int prompt_tokens, float* out);

// x / max(|x|, 1e-12), as torch.nn.functional.normalize.
void normalize(std::span<float> x);

// Changes to what the folder says.
struct HeadOptions {
  bool keep_normalize = true;     // false: Normalize modules are left out
  bool final_normalize = false;   // normalise at the very end
  std::optional<int> dimensions;  // keep this many leading numbers, then normalise if the folder or final_normalize asks for it
};

// Immutable after loading; apply() may run in any number of threads with memory of their own.
class Head {
 public:
  static Result<Head> load(const ModelSpec& spec, const HeadOptions& options, const Kernels& kernels, Team& team);

  int dimensions() const { return dimensions_; }
  uint64_t weight_bytes() const;

  struct Memory {
    std::vector<float> current, next;
  };
  // Runs on the calling thread. `out` is [texts, dimensions()].
  void apply(const PackedBatch& batch, std::span<const int> prompt_tokens, Floats hidden, Memory& memory, float* out) const;

 private:
  struct Step {
    ModuleSpec::Kind kind = ModuleSpec::Kind::kPooling;
    int columns = 0;  // of the result
    PackedLinear dense;
    Activation activation = Activation::kIdentity;
    NormWeights norm;
  };
  void run(const Step& step, int texts, Memory& memory) const;
  size_t stride_for(int columns) const;

  const Kernels* kernels_ = nullptr;
  int hidden_size_ = 0;
  PoolingSpec pooling_;
  std::vector<Step> steps_;  // after pooling
  int pooled_columns_ = 0;
  int dimensions_ = 0;
  bool final_normalize_ = false;
};

}  // namespace inlay
