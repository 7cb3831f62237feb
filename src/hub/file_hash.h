// Whether a file is what its hub says it is.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace inlay {

// Checks a file against its etag: 64 digits are a SHA-256 of large files, 40 the SHA-1 by which git names a small one, and any
// other etag says nothing. A difference is kCorrupt.
Result<> check_etag(const std::filesystem::path& file, std::string_view etag);

}  // namespace inlay
