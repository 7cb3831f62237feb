// Writes a safetensors file. The counterpart of weights/safetensors.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace inlay {

struct TensorToWrite {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // row major; must stay where they are until the file is written
};

// The file appears under its name when it is whole. Tensors lie in the order given; names must differ.
Result<> write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                           const std::map<std::string, std::string>& metadata);

}  // namespace inlay
