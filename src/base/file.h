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

// What tells a file from one that lay there before or that somebody else put there.
struct FileStamp {
  uint64_t size = 0;
  int64_t modified_ns = 0;  // since 1970; programs can set it
  int64_t changed_ns = 0;   // the same, and set by the system alone: whatever replaces or rewrites a file moves it
  // Owned by this process's user or by root, and writable by nobody but the owner.
  bool is_trusted = false;
};

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

  // Of the file as it was when it was opened.
  const FileStamp& stamp() const { return stamp_; }

  // Tells the kernel that [offset, offset + size) of the map is not needed now, so that it stops counting as resident.
  // Reading it again is allowed and reads the file again.
  void release(size_t offset, size_t size) const noexcept;
  void release_all() const noexcept;

 private:
  MappedFile(const std::byte* data, const FileStamp& stamp) : data_(data), size_(stamp.size), stamp_(stamp) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  FileStamp stamp_;
};

}  // namespace inlay
