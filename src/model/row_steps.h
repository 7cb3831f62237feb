// What a head does to rows, each by itself: dense layers, norms, unit length. Rows are pooled texts or single tokens.
#pragma once

#include <span>
#include <vector>

#include "backend/linear.h"
#include "backend/ops.h"

namespace inlay {

// x / max(|x|, 1e-12), as torch.nn.functional.normalize.
void normalize(std::span<float> x);

struct RowMemory {
  std::vector<float> current, next;

  size_t bytes() const { return (current.capacity() + next.capacity()) * sizeof(float); }
};

// Immutable once its steps are added; run() may be called by any number of threads with memory of their own.
class RowSteps {
 public:
  RowSteps() = default;
  // `columns` of the rows that come in.
  RowSteps(const Kernels& kernels, int columns) : kernels_(&kernels), in_columns_(columns), columns_(columns) {}

  void add_dense(PackedLinear dense, Activation activation);
  void add_norm(NormWeights norm);
  void add_normalize();

  int columns() const { return columns_; }  // of the result
  bool empty() const { return steps_.empty(); }
  bool ends_normal() const { return !steps_.empty() && steps_.back().kind == Kind::kNormalize; }
  uint64_t weight_bytes() const;

  // Room for rows of the input, all zeros: row i begins at i * stride().
  float* begin(int rows, RowMemory& memory) const;
  size_t stride() const { return stride_for(in_columns_); }
  // Runs on the calling thread.
  void run(int rows, RowMemory& memory) const;
  // A row of the result, [columns()].
  const float* result(int row, const RowMemory& memory) const {
    return memory.current.data() + static_cast<size_t>(row) * stride_for(columns_);
  }

 private:
  enum class Kind : uint8_t { kDense, kNorm, kNormalize };
  struct Step {
    Kind kind = Kind::kNormalize;
    int columns = 0;  // of the result
    PackedLinear dense = {};
    Activation activation = Activation::kIdentity;
    NormWeights norm = {};
  };
  void run_dense(const Step& step, int rows, RowMemory& memory) const;
  size_t stride_for(int columns) const;

  const Kernels* kernels_ = nullptr;
  int in_columns_ = 0;
  int columns_ = 0;
  std::vector<Step> steps_;
};

}  // namespace inlay
