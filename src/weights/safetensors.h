// The header of a safetensors file: which tensors it holds and where they lie. Works on bytes alone, so that any input can be
// tried on it without a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace inlay {

// Limits on what a stranger's file may make us allocate. The header limit is the reference implementation's.
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes
constexpr size_t kMaxSafetensorsTensors = 1'000'000;
constexpr size_t kMaxSafetensorsRank = 8;
constexpr size_t kMaxTensorName = 4096;  // bytes

struct SafetensorsEntry {
  std::string name;
  // nullopt: a type this build doesn't know (`dtype_text` spells it). Only a reader of that tensor has to fail.
  std::optional<DType> dtype;
  std::string dtype_text;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the file
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;        // by position in the file
  std::map<std::string, std::string> metadata;  // __metadata__
};

// Checks all that the format promises: a header of valid JSON inside the file, no name twice, shapes whose size in bytes is
// what the offsets say, and tensors that tile the rest of the file without hole, overlap or trailing bytes. `file` is the whole
// file and `name` starts every error message; a broken promise is kCorrupt.
Result<SafetensorsHeader> read_safetensors_header(std::span<const std::byte> file, std::string_view name);

}  // namespace inlay
