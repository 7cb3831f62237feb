// What the targets of files of weights share.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "weights/stored_tensor.h"

namespace inlay {

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Checks that each tensor lies inside of the file, and reads all elements of those that have a type.
void check_tensors(const std::vector<StoredTensor>& tensors, std::string_view file);

}  // namespace inlay
