// The matrices of GPTQ and AWQ checkpoints: eight codes of four bits in a word of 32.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/coded_tensors.h"

namespace inlay {

// NAME.qweight, NAME.qzeros, NAME.scales and NAME.g_idx together are NAME.weight.
constexpr std::string_view kCodedWords = ".qweight";

// The matrix NAME.weight [outputs, inputs]; `config` is of method gptq or awq.
Result<CodedTensor> read_coded_words(const QuantizationConfig& config, const std::string& name, const TensorFinder& find);

}  // namespace inlay
