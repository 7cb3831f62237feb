// The table of contents of a zip file, with the 64-bit extension. Entries are found, never unpacked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>

#include "base/result.h"

namespace inlay {

constexpr size_t kMaxZipEntries = 1'000'000;

struct ZipEntry {
  bool is_stored = false;  // neither compressed nor encrypted: its bytes are [begin, end) of the file
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Names point into `file`. Every entry lies inside the file; a broken promise is kCorrupt, and `name` starts the message.
using ZipDirectory = std::map<std::string_view, ZipEntry, std::less<>>;
Result<ZipDirectory> read_zip_directory(std::span<const std::byte> file, std::string_view name);

// Whether the bytes begin as a zip file does.
bool is_zip(std::span<const std::byte> file);

}  // namespace inlay
