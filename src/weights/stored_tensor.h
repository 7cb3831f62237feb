// Where a tensor lies in a file of weights, whatever the format of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace inlay {

// Limits on what a stranger's file may make us allocate, for every format but safetensors, which has its own.
constexpr size_t kMaxStoredTensors = 1'000'000;
constexpr size_t kMaxStoredRank = 8;
constexpr size_t kMaxStoredName = 4096;  // bytes
constexpr uint64_t kMaxStoredDim = uint64_t{1} << 48;

struct StoredTensor {
  std::string name = {};
  // nullopt: something this build can't read (`dtype_text` says what). Only a reader of that tensor has to fail.
  std::optional<DType> dtype = {};
  std::string dtype_text = {};
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // in elements; empty: row major
  uint64_t begin = 0;                 // bytes from the start of the file
  uint64_t end = 0;
};

// Bytes of a row-major tensor, or an error if the shape has a negative or too large size, more than kMaxStoredRank dimensions,
// too many elements, or fills no whole number of bytes or blocks. Errors don't name the tensor.
Result<uint64_t> stored_bytes(DType dtype, std::span<const int64_t> shape);

// Sets dtype, begin and end of a row-major tensor whose bytes begin at `begin` of a file of `file_size`; kCorrupt names the
// tensor if they don't all lie in it.
Result<> place_row_major(StoredTensor& tensor, DType dtype, uint64_t begin, uint64_t file_size);

}  // namespace inlay
