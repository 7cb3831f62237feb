// Rows of numbers looked up by id: word, position and token type embeddings.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "tensor/buffer.h"
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
  // `source` is [rows, columns] of a float type and must outlive a table that is kAsStored. bf16 and fp16 sources stay as they
  // are unless int8 is wanted.
  static Result<EmbeddingTable> make(const TensorView& source, Storage storage);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  size_t bytes() const { return copy_.size() + scale_.size(); }  // of memory of our own
  bool uses_source() const { return copy_.size() == 0; }

  // out = row, out += row; `id` is in [0, rows()).
  void set_row(int id, float* out) const;
  void add_row(int id, float* out) const;

 private:
  enum class Element : uint8_t { kF32, kBF16, kF16, kI8 };
  template <bool kAdd>
  void put_row(int id, float* out) const;

  Element element_ = Element::kF32;
  const std::byte* data_ = nullptr;  // into the source or into copy_
  Buffer copy_;
  Buffer scale_;  // kI8: [rows]
  int rows_ = 0;
  int columns_ = 0;
};

}  // namespace inlay
