// One linear layer to the codes of its new type, and how far its outputs move.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "quant/level_codes.h"
#include "tensor/tensor_view.h"
#include "weights/safetensors_writer.h"

namespace inlay {

enum class WeightType : uint8_t { kFloat16, kBFloat16, kInt8, kInt4 };
std::string_view weight_type_name(WeightType type);

struct RoundingOptions {
  WeightType type = WeightType::kInt8;
  int group = 32;         // kInt4
  bool use_gptq = false;  // kInt4
  bool act_order = false;
};

// A tensor in its new form: the bytes of what stands in its place, in the order of `tensors`.
struct RoundedTensor {
  std::string name;
  std::vector<TensorToWrite> tensors;  // their bytes lie in `storage`
  std::vector<std::vector<std::byte>> storage;

  uint64_t bytes() const;
};

// Rounds matrices one after another that have the same inputs. Threads may use different rounders at once.
class LayerRounder {
 public:
  // `input_sums` [k, k] is the sum of x x^T over the layer's inputs, or empty: then errors are those of the weights. It must
  // outlive this. GPTQ needs it.
  static Result<LayerRounder> make(const RoundingOptions& options, int k, std::span<const float> input_sums);
  LayerRounder(LayerRounder&&) noexcept;
  LayerRounder& operator=(LayerRounder&&) noexcept;
  ~LayerRounder();

  // `view` is [rows, k].
  Result<RoundedTensor> round(const std::string& name, const TensorView& view);
  // Of all matrices so far: the length of the change of the outputs, as a share of the length of the outputs.
  double error() const;

 private:
  struct Impl;
  explicit LayerRounder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// An embedding table, whose rows are looked up: no inputs to think of. `group` is of kInt4.
Result<RoundedTensor> round_table(const std::string& name, const TensorView& view, WeightType type, int group);

}  // namespace inlay
