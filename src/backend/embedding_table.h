// Rows of numbers looked up by id: word, position and token type embeddings.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/team.h"
#include "tensor/blob.h"
#include "tensor/tensor_view.h"

namespace inlay {

class EmbeddingTable {
 public:
  enum class Storage : uint8_t {
    kAsStored,  // read where it lies in the file, in its own type: nothing is copied, only rows that are used become resident
    kBF16,
    kF16,
    kI8,  // one scale a row
  };
  enum class Element : uint8_t { kF32, kBF16, kF16, kI8, kI4 };  // what a table holds
  // Whether a table of so many rows becomes narrower. A row of token types is added to every token of a text, so its error does
  // not average out: in MiniLM its 384 numbers cost as much precision as all else in int8. A few rows of floats weigh nothing.
  static constexpr bool is_rounded(int64_t rows) { return rows > kFewRows; }
  // `source` is [rows, columns] of a float type and must outlive a table that is kAsStored. bf16 and fp16 sources stay as they
  // are unless int8 is wanted, codes always stay as they are, and tables of a few rows are floats. `done` is told of parts of
  // the source that have been copied, on the calling thread.
  using SourceDone = std::function<void(std::span<const std::byte>)>;
  static Result<EmbeddingTable> make(const TensorView& source, Storage storage, Team& team, const SourceDone& done);

  // A table's own memory as blobs: the rows, and for kI8 and kI4 one scale a row, behind which kI4 has a factor (a byte) a
  // row and group. Both are empty for a table that reads its source.
  static constexpr std::array<std::string_view, 2> kPartNames = {"rows", "scale"};
  using Parts = std::array<Blob, kPartNames.size()>;
  static std::array<size_t, kPartNames.size()> part_sizes(const TensorView& source, Storage storage);  // in bytes
  // What make() gave as parts(), for a source of the same shape and type; every part has its size of part_sizes().
  static EmbeddingTable from_parts(const TensorView& source, Storage storage, Parts parts);
  const Parts& parts() const { return parts_; }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  size_t bytes() const { return parts_[0].size() + parts_[1].size(); }  // of the parts
  bool uses_source() const { return parts_[0].size() == 0; }
  // Whether the parts are somebody else's memory.
  bool is_borrowed() const { return parts_[0].is_borrowed(); }
  // Bytes of the source that is read in place, else 0.
  size_t source_bytes() const { return uses_source() ? source_bytes_ : 0; }

  // out = row, out += row; `id` is in [0, rows()).
  void set_row(int id, float* out) const;
  void add_row(int id, float* out) const;

 private:
  static constexpr int64_t kFewRows = 16;

  template <bool kAdd>
  void put_row(int id, float* out) const;
  template <bool kAdd>
  void put_levels(int id, float* out) const;

  Element element_ = Element::kF32;
  const std::byte* data_ = nullptr;  // into the source or into the rows
  Parts parts_;
  size_t source_bytes_ = 0;
  int rows_ = 0;
  int columns_ = 0;
  int group_ = 0;  // kI4
};

}  // namespace inlay
