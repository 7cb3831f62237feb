// What the linear layers of a model see when it embeds texts: the sums that GPTQ and the error of a layer's outputs need.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/team.h"
#include "model/encoder.h"
#include "tensor/buffer.h"

namespace inlay {

// Sums x x^T over the rows x that it is shown. Used by one thread at a time.
class InputSums final : public InputObserver {
 public:
  InputSums(const Kernels& kernels, int k);
  ~InputSums() override;
  void observe(Floats input, int rows) override;
  // Of all rows so far, [k, k].
  std::vector<float> sums();
  int64_t rows() const { return rows_; }

 private:
  void add_pending();

  const Kernels& kernels_;
  int k_;
  int64_t stride_;
  int64_t rows_ = 0;
  int pending_rows_ = 0;
  Buffer pending_;  // [k, kChunkRows]: the rows that are not in the sums yet, transposed
  Buffer sums_;     // [k, stride_]
};

// The linear layers and embedding tables of a model, in the order in which its architecture loads them; what it loads twice is
// there once.
class ModelParts final : public LinearVisitor {
 public:
  struct Table {
    std::string name;
    int rows = 0;
    int columns = 0;
  };

  // Whether layers are to collect the sums of their inputs.
  ModelParts(const Kernels& kernels, bool collect) : kernels_(kernels), collect_(collect) {}

  InputObserver* linear(const Layer& layer) override;
  void table(const std::string& name, int rows, int columns) override;

  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<Table>& tables() const { return tables_; }
  // Of layers()[i]; null if nothing was to be collected.
  InputSums* inputs(size_t i) { return inputs_[i].get(); }
  // Lets the memory of inputs(i) go, once no encoder runs any more.
  void forget_inputs(size_t i) { inputs_[i].reset(); }

 private:
  const Kernels& kernels_;
  bool collect_;
  std::vector<Layer> layers_;
  std::vector<std::unique_ptr<InputSums>> inputs_;
  std::vector<Table> tables_;
};

struct CalibrationOptions {
  std::filesystem::path model = {};
  int max_length = 0;  // tokens of a text; 0: what the model takes
  // Asked after every text; true ends with kCancelled.
  std::function<bool()> stopped = {};
};

struct CalibrationReport {
  uint64_t texts = 0;
  uint64_t tokens = 0;
};

// Loads the model in float32, telling `parts` what it is made of, and runs it over the texts. Without texts it is only loaded.
Result<CalibrationReport> calibrate(const CalibrationOptions& options, const WeightStore& weights,
                                    const std::vector<std::string>& texts, ModelParts& parts);

}  // namespace inlay
