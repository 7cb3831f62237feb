#include "backend/embedding_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "quant/group_codes.h"
#include "quant/level_codes.h"
#include "tensor/coded_matrix.h"
#include "tensor/half.h"

namespace inlay {
namespace {

// So much of a source is copied before it is let go, so that loading a large table doesn't hold both forms of it.
constexpr size_t kBlockBytes = size_t{8} << 20;

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

EmbeddingTable::Element element_for(const TensorView& view, EmbeddingTable::Storage storage) {
  using Element = EmbeddingTable::Element;
  using Storage = EmbeddingTable::Storage;
  if (view.coded != nullptr) {
    if (view.coded->kind() == CodedMatrix::Kind::kBytes) return Element::kI8;
    if (view.coded->kind() == CodedMatrix::Kind::kLevels) return Element::kI4;
  }
  if (storage != Storage::kAsStored && !EmbeddingTable::is_rounded(view.shape[0])) return Element::kF32;
  const DType source = view.coded == nullptr ? view.dtype : DType::kF32;
  if (storage == Storage::kI8) return Element::kI8;
  if (source == DType::kBF16) return Element::kBF16;
  if (source == DType::kF16) return Element::kF16;
  if (storage == Storage::kAsStored) return Element::kF32;
  return storage == Storage::kBF16 ? Element::kBF16 : Element::kF16;
}

// Whether the table reads the bytes of the source where they are.
bool reads_source(const TensorView& source, EmbeddingTable::Storage storage) {
  using Element = EmbeddingTable::Element;
  if (source.coded != nullptr || !source.is_row_major()) return false;
  const Element element = element_for(source, storage);
  const bool is_as_stored = storage == EmbeddingTable::Storage::kAsStored;
  return (source.dtype == DType::kF32 && element == Element::kF32 && is_as_stored) ||
         (source.dtype == DType::kBF16 && element == Element::kBF16) ||
         (source.dtype == DType::kF16 && element == Element::kF16);
}

size_t row_bytes(EmbeddingTable::Element element, size_t columns) {
  if (element == EmbeddingTable::Element::kI4) return (columns + 1) / 2;
  if (element == EmbeddingTable::Element::kI8) return columns;
  return columns * (element == EmbeddingTable::Element::kF32 ? 4 : 2);
}

size_t scale_bytes(EmbeddingTable::Element element, const TensorView& source) {
  const size_t rows = static_cast<size_t>(source.shape[0]);
  if (element == EmbeddingTable::Element::kI8) return rows * sizeof(float);
  if (element != EmbeddingTable::Element::kI4) return 0;
  const int groups = group_count(static_cast<int>(source.shape[1]), source.coded->group());
  return rows * (sizeof(float) + static_cast<size_t>(groups));
}

// Rows [begin, end) of the source into the buffers of a table.
class RowCopier {
 public:
  RowCopier(const TensorView& source, EmbeddingTable::Element element, Buffer& rows, Buffer& scale)
      : source_(source), element_(element), rows_(rows), scale_(scale) {}

  Result<> copy(int begin, int end) {
    if (source_.coded != nullptr && (element_ == Element::kI8 || element_ == Element::kI4)) {
      copy_codes(begin, end);
      return {};
    }
    std::vector<float> row(static_cast<size_t>(source_.shape[1]));
    for (int r = begin; r < end; ++r) {
      const int64_t first = int64_t{r} * source_.shape[1];
      TRY_VOID(to_float(source_, first, row));
      TRY_VOID(put(r, first, row));
    }
    return {};
  }

 private:
  using Element = EmbeddingTable::Element;

  void copy_codes(int begin, int end) {
    const size_t columns = static_cast<size_t>(source_.shape[1]);
    if (element_ == Element::kI8) {
      for (int r = begin; r < end; ++r) {
        int8_t* const out = rows_.as<int8_t>() + static_cast<size_t>(r) * columns;
        scale_.as<float>()[r] = source_.coded->read_codes(r, {out, columns});
      }
      return;
    }
    LevelRow row;
    int8_t* const factors = scale_.as<int8_t>() + static_cast<size_t>(source_.shape[0]) * sizeof(float);
    for (int r = begin; r < end; ++r) {
      source_.coded->read_levels(r, row);
      uint8_t* const out = rows_.as<uint8_t>() + static_cast<size_t>(r) * ((columns + 1) / 2);
      for (size_t c = 0; c < columns; ++c) out[c / 2] = static_cast<uint8_t>(out[c / 2] | row.codes[c] << 4 * (c % 2));
      std::copy(row.factors.begin(), row.factors.end(), factors + static_cast<size_t>(r) * row.factors.size());
      scale_.as<float>()[r] = row.scale;
    }
  }

  Result<> put(int r, int64_t first, std::span<const float> row) {
    switch (element_) {
      case Element::kI8: scale_.as<float>()[r] = quantise_row(row, rows_.as<int8_t>() + first); return {};
      case Element::kF32: std::copy(row.begin(), row.end(), rows_.as<float>() + first); return {};
      case Element::kBF16: std::transform(row.begin(), row.end(), rows_.as<uint16_t>() + first, float_to_bf16); return {};
      case Element::kF16:
      case Element::kI4: break;  // 4-bit tables come from codes only
    }
    for (const float value : row) {
      if (std::abs(value) <= kFp16Max || std::isnan(value)) continue;
      return fail(ErrorCode::kUnsupported, "embedding {} of row {} does not fit float16; take bfloat16 or float32", value, r);
    }
    std::transform(row.begin(), row.end(), rows_.as<uint16_t>() + first, float_to_fp16);
    return {};
  }

  const TensorView& source_;
  EmbeddingTable::Element element_;
  Buffer& rows_;
  Buffer& scale_;
};

}  // namespace

std::array<size_t, 2> EmbeddingTable::part_sizes(const TensorView& source, Storage storage) {
  const Element element = element_for(source, storage);
  if (reads_source(source, storage)) return {0, 0};
  return {static_cast<size_t>(source.shape[0]) * row_bytes(element, static_cast<size_t>(source.shape[1])),
          scale_bytes(element, source)};
}

EmbeddingTable EmbeddingTable::from_parts(const TensorView& source, Storage storage, Parts parts) {
  const std::array<size_t, 2> sizes = part_sizes(source, storage);
  INLAY_CHECK(parts[0].size() == sizes[0] && parts[1].size() == sizes[1], "parts were asked for with their sizes");
  EmbeddingTable table;
  table.element_ = element_for(source, storage);
  table.rows_ = static_cast<int>(source.shape[0]);
  table.columns_ = static_cast<int>(source.shape[1]);
  table.group_ = source.coded != nullptr ? source.coded->group() : 0;
  table.source_bytes_ = source.bytes.size();
  table.parts_ = std::move(parts);
  table.data_ = table.uses_source() ? source.bytes.data() : table.parts_[0].as<>();
  return table;
}

Result<EmbeddingTable> EmbeddingTable::make(const TensorView& source, Storage storage, Team& team, const SourceDone& done) {
  INLAY_CHECK(source.shape.size() == 2, "an embedding table has two dimensions");
  const std::array<size_t, 2> sizes = part_sizes(source, storage);
  Buffer rows(sizes[0]), scale(sizes[1]);
  if (sizes[0] == 0) return from_parts(source, storage, {});
  RowCopier copier(source, element_for(source, storage), rows, scale);
  const int count = static_cast<int>(source.shape[0]);
  const size_t source_row = source.bytes.size() / source.shape[0];
  const int block = static_cast<int>(std::max<size_t>(1, kBlockBytes / std::max<size_t>(1, source_row)));
  for (int begin = 0; begin < count; begin += block) {
    const int block_rows = std::min(block, count - begin);
    std::vector<Result<>> results(static_cast<size_t>(team.size()));
    team.run([&](const Share& share) {
      const Share::Range part = share.part_of(block_rows);
      results[share.rank] = copier.copy(begin + part.begin, begin + part.end);
    });
    for (const Result<>& result : results) TRY_VOID(result);
    done(source.bytes.subspan(begin * source_row, block_rows * source_row));
  }
  return from_parts(source, storage, {Blob(std::move(rows)), Blob(std::move(scale))});
}

template <bool kAdd>
void EmbeddingTable::put_levels(int id, float* out) const {
  const std::byte* codes = data_ + static_cast<int64_t>(id) * ((columns_ + 1) / 2);
  const float scale = parts_[1].as<float>()[id];
  const int8_t* factors = parts_[1].as<int8_t>() + int64_t{rows_} * int64_t{sizeof(float)} +
                          static_cast<int64_t>(id) * group_count(columns_, group_);
  for (int begin = 0; begin < columns_; begin += group_) {
    const int factor = *factors++;
    for (int c = begin; c < std::min(begin + group_, columns_); ++c) {
      const int code = static_cast<int>(codes[c / 2] >> 4 * (c % 2)) & 15;
      put(out + c, scale * static_cast<float>(level_weight(code, factor)), kAdd);
    }
  }
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
      const float scale = parts_[1].as<float>()[id];
      for (int c = 0; c < columns_; ++c) put(out + c, scale * static_cast<float>(load<int8_t>(data_, begin + c)), kAdd);
      return;
    }
    case Element::kI4: return put_levels<kAdd>(id, out);
  }
}

void EmbeddingTable::set_row(int id, float* out) const { put_row<false>(id, out); }
void EmbeddingTable::add_row(int id, float* out) const { put_row<true>(id, out); }

}  // namespace inlay
