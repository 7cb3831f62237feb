// For tests: files as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/file.h"

namespace inlay {

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string read_test_file(const std::string& path) {
  Result<std::string> text = read_file(path, 1 << 24);
  INLAY_CHECK(text.has_value(), "tests run in the folder of the project");
  return *std::move(text);
}

}  // namespace inlay
