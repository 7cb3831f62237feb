// The tensors of a file that torch.save wrote: pytorch_model.bin, sparse_linear.pt, ... Works on bytes alone and runs nothing
// that the file says.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/stored_tensor.h"

namespace inlay {

constexpr uint64_t kMaxTorchPickle = 256 << 20;  // bytes; some 200 a tensor in files of torch

// Reads the table of contents of a file in torch's zip form (since 1.6) or in the form before it: a dictionary of tensors, or a
// checkpoint that holds one as "state_dict", "model_state_dict" or "model". Tensors are where they lie in the file; those whose
// bytes can't be used in place, for instance because they repeat their elements, have no dtype. A broken promise is kCorrupt,
// anything that is no tensor of a known class kUnsupported; `name` starts every message.
Result<std::vector<StoredTensor>> read_torch_file(std::span<const std::byte> file, std::string_view name);

}  // namespace inlay
