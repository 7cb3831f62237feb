// One mapped file of weights and its table of contents. Formats meet here: what comes out is the same for all of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "weights/stored_tensor.h"

namespace inlay {

struct WeightFile {
  std::string name;  // for messages: as it was asked for
  MappedFile map;
  std::vector<StoredTensor> tensors;
  uint64_t header_checksum = 0;  // changes whenever the table of contents does
};

// Maps `folder / name` and reads its table of contents, in the format that its suffix says: .safetensors, else torch's.
// Nothing large is allocated before it has been checked; errors begin with `name`.
Result<WeightFile> open_weight_file(const std::filesystem::path& folder, const std::string& name);

}  // namespace inlay
