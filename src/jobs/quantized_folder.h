// The folder that `inlay quantize` writes. docs/formats/quantised-folder.md describes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/quantize_job.h"
#include "weights/safetensors_writer.h"

namespace inlay {

// Makes the folder, which must be new or empty, and copies what is no weight file: tokenizer, modules, configurations but
// config.json.
Result<> begin_quantized_folder(const QuantizeOptions& options);

// Writes config.json with a quantization_config, and then the weights, so that a folder with weights is whole.
Result<> end_quantized_folder(const QuantizeOptions& options, const std::vector<TensorToWrite>& tensors);

}  // namespace inlay
