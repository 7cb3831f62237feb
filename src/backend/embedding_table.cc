#include "backend/embedding_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr float kFp16Max = 65504.0F;

template <class Stored>
Stored load(const std::byte* data, int64_t index) {
  Stored value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
  return value;
}

void put(float* out, float value, bool add) { *out = add ? *out + value : value; }

// Symmetric int8 with one scale a row, as for weights.
float quantise_row(std::span<const float> row, int8_t* out) {
  float highest = 0;
  for (const float value : row) highest = std::max(highest, std::abs(value));
  const float inverse = highest > 0 ? 127.0F / highest : 0.0F;
  for (size_t c = 0; c < row.size(); ++c) out[c] = static_cast<int8_t>(std::nearbyint(row[c] * inverse));
  return highest / 127.0F;
}

}  // namespace

Result<EmbeddingTable> EmbeddingTable::make(const TensorView& source, Storage storage) {
  INLAY_CHECK(source.shape.size() == 2, "an embedding table has two dimensions");
  EmbeddingTable table;
  table.rows_ = static_cast<int>(source.shape[0]);
  table.columns_ = static_cast<int>(source.shape[1]);
  table.data_ = source.bytes.data();
  const bool is_half = source.dtype == DType::kBF16 || source.dtype == DType::kF16;
  if (is_half) table.element_ = source.dtype == DType::kBF16 ? Element::kBF16 : Element::kF16;
  if (is_half && storage != Storage::kI8) return table;
  if (storage == Storage::kAsStored && source.dtype == DType::kF32) return table;

  const size_t count = static_cast<size_t>(source.element_count());
  const size_t columns = static_cast<size_t>(table.columns_);
  const bool is_i8 = storage == Storage::kI8;
  const bool is_f32 = storage == Storage::kAsStored;  // of float64
  table.element_ = is_i8 ? Element::kI8 : is_f32 ? Element::kF32 : storage == Storage::kBF16 ? Element::kBF16 : Element::kF16;
  table.copy_ = Buffer(count * (is_i8 ? 1 : is_f32 ? 4 : 2));
  if (is_i8) table.scale_ = Buffer(static_cast<size_t>(table.rows_) * sizeof(float));
  std::vector<float> row(columns);
  for (int r = 0; r < table.rows_; ++r) {
    const int64_t begin = static_cast<int64_t>(r) * table.columns_;
    TRY_VOID(to_float(source, begin, row));
    if (is_i8) table.scale_.as<float>()[r] = quantise_row(row, table.copy_.as<int8_t>() + begin);
    if (is_f32) std::copy(row.begin(), row.end(), table.copy_.as<float>() + begin);
    for (size_t c = 0; c < columns && !is_i8 && !is_f32; ++c) {
      if (storage == Storage::kF16 && std::abs(row[c]) > kFp16Max) {
        return fail(ErrorCode::kUnsupported, "embedding {} of row {} does not fit float16; take bfloat16 or float32", row[c],
                    r);
      }
      table.copy_.as<uint16_t>()[begin + static_cast<int64_t>(c)] =
          storage == Storage::kBF16 ? float_to_bf16(row[c]) : float_to_fp16(row[c]);
    }
  }
  table.data_ = table.copy_.as<>();
  return table;
}

template <bool kAdd>
void EmbeddingTable::put_row(int id, float* out) const {
  INLAY_CHECK(id >= 0 && id < rows_, "ids are checked when a text is taken in");
  const int64_t begin = static_cast<int64_t>(id) * columns_;
  switch (element_) {
    case Element::kF32:
      for (int c = 0; c < columns_; ++c) put(out + c, load<float>(data_, begin + c), kAdd);
      return;
    case Element::kBF16:
      for (int c = 0; c < columns_; ++c) put(out + c, bf16_to_float(load<uint16_t>(data_, begin + c)), kAdd);
      return;
    case Element::kF16:
      for (int c = 0; c < columns_; ++c) put(out + c, fp16_to_float(load<uint16_t>(data_, begin + c)), kAdd);
      return;
    case Element::kI8: {
      const float scale = scale_.as<float>()[id];
      for (int c = 0; c < columns_; ++c) put(out + c, scale * static_cast<float>(load<int8_t>(data_, begin + c)), kAdd);
      return;
    }
  }
}

void EmbeddingTable::set_row(int id, float* out) const { put_row<false>(id, out); }
void EmbeddingTable::add_row(int id, float* out) const { put_row<true>(id, out); }

}  // namespace inlay
