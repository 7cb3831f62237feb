// Files as they are read by loaders: whole small files with a cap, and memory maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace inlay {

// Reads a whole file. A file larger than `max_bytes` is kTooLarge before anything is allocated; a missing one is kNotFound.
Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes);

// A read-only memory map of a whole regular file, unmapped by the destructor. Reads are thread-safe.
// A file that another process shortens while it is mapped ends this process with SIGBUS, as with every memory map.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Valid while this object lives. Empty for an empty file.
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Tells the kernel that [offset, offset + size) of the map is not needed now, so that it stops counting as resident.
  // Reading it again is allowed and reads the file again.
  void release(size_t offset, size_t size) const noexcept;

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace inlay
