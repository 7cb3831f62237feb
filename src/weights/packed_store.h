// Blobs of packed weights in a file, so that the next start maps them instead of packing again. docs/formats/weight-cache.md
// describes the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace inlay {

// Used by one thread at a time.
class PackedStore {
 public:
  // Maps `file` if it holds what `key` describes: all that the blobs follow from. A file that is missing, has another key, is
  // damaged, or could have been written by somebody else is not used; the log says why, and the store is empty.
  static PackedStore open(std::filesystem::path file, std::string key);

  // The bytes stored under `name`, aligned to 64 bytes and valid while the store lives; nothing if there are none of that size.
  std::optional<std::span<const std::byte>> find(std::string_view name, size_t size) const;
  // Keeps bytes for save(), found ones too; they must stay where they are until then. Each name once.
  void keep(const std::string& name, std::span<const std::byte> bytes);
  const std::filesystem::path& file() const { return file_; }
  // Whether something was kept that the file does not hold.
  bool is_changed() const { return is_changed_; }
  // Writes what was kept if that is_changed(). The file appears under its name when it is whole; processes that do this at the
  // same time write the same bytes, and the last one stays.
  Result<> save();

 private:
  PackedStore(std::filesystem::path file, std::string key) : file_(std::move(file)), key_(std::move(key)) {}
  Result<> read();

  std::filesystem::path file_;
  std::string key_;
  std::optional<MappedFile> map_;
  std::map<std::string, std::span<const std::byte>, std::less<>> stored_;  // in map_
  std::vector<std::pair<std::string, std::span<const std::byte>>> kept_;
  bool is_changed_ = false;
};

}  // namespace inlay
