// A matrix that a file holds as integer codes with scales. Views of tensors point to one, so that whoever wants floats need not
// know, and whoever computes with codes takes them as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inlay {

// Codes of four bits with a scale for each group of consecutive columns. Weight k is scale * (code - zero), scale and zero
// being those of group k / group.
struct GroupedRow {
  std::vector<uint8_t> codes;    // [columns], 0..15
  std::vector<uint16_t> scales;  // [groups], fp16
  std::vector<uint8_t> zeros;    // [groups], 0..15, or empty: all are kMiddleCode
};
constexpr int kMiddleCode = 8;

// Levels of four bits (tensor/levels.h) with a factor for each group of consecutive columns and one scale. Weight k is scale *
// level_weight(code, factor), the factor being that of group k / group.
struct LevelRow {
  std::vector<uint8_t> codes;   // [columns], 0..15
  std::vector<int8_t> factors;  // [groups], -8..7
  float scale = 0;
};

// Immutable, so any thread may read. Rows are output features, or the rows of an embedding table.
class CodedMatrix {
 public:
  enum class Kind : uint8_t {
    kBytes,      // codes of -127..127, one scale a row
    kLevels,     // LevelRow
    kGroups,     // GroupedRow
    kScattered,  // four bits in groups that are not consecutive: as floats only
  };

  virtual ~CodedMatrix() = default;

  Kind kind() const { return kind_; }
  int64_t columns() const { return columns_; }
  int group() const { return group_; }                   // kGroups and kLevels
  bool has_zeros() const { return has_zeros_; }          // kGroups: whether some zero is not kMiddleCode
  size_t stored_bytes() const { return stored_bytes_; }  // codes, scales and zeros

  // The weights of a row; `out` is as long as a row.
  virtual void read(int64_t row, std::span<float> out) const = 0;
  // kBytes, and kLevels by what they stand for: the codes of a row and, as the result, their scale.
  virtual float read_codes(int64_t row, std::span<int8_t> out) const;
  // kLevels: the codes of a row.
  virtual void read_levels(int64_t row, LevelRow& out) const;
  // kGroups: the codes of a row, with zeros if has_zeros().
  virtual void read_groups(int64_t row, GroupedRow& out) const;

 protected:
  Kind kind_ = Kind::kBytes;
  int64_t columns_ = 0;
  int group_ = 0;
  bool has_zeros_ = false;
  size_t stored_bytes_ = 0;
};

}  // namespace inlay
