// Matrices that a checkpoint holds as codes, scales and zeros in tensors of their own, found by the names of those tensors.
// docs/formats/quantised-folder.md describes our own; GPTQ and AWQ checkpoints have four bits in words of 32.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/coded_matrix.h"
#include "tensor/tensor_view.h"
#include "weights/quantization_config.h"

namespace inlay {

struct CodedTensor {
  std::string name;  // that the matrix has where it is not coded: NAME.weight
  TensorView view;   // coded by `matrix`
  std::unique_ptr<CodedMatrix> matrix;
  std::vector<std::string> parts;  // the tensors that it is made of
};

// `find` gives a tensor of the checkpoint or null; views must outlive what is returned. Parts that contradict each other are
// kCorrupt.
using TensorFinder = std::function<const TensorView*(std::string_view name)>;
Result<std::vector<CodedTensor>> find_coded_tensors(const QuantizationConfig& config, const std::vector<std::string>& names,
                                                    const TensorFinder& find);

}  // namespace inlay
