#include "weights/coded_tensors.h"

#include <algorithm>
#include <cstring>

#include "quant/group_codes.h"
#include "tensor/half.h"
#include "weights/coded_words.h"

namespace inlay {
namespace {

constexpr int64_t kMaxDimension = 1 << 30;
constexpr std::string_view kCodes = "_q";
constexpr std::string_view kScale = "_scale";
constexpr std::string_view kZero = "_zero";

float float_at(const TensorView& view, int64_t index) {
  float value;
  std::memcpy(&value, view.bytes.data() + index * static_cast<int64_t>(sizeof(value)), sizeof(value));
  return value;
}

uint8_t byte_at(const TensorView& view, int64_t index) { return static_cast<uint8_t>(view.bytes[static_cast<size_t>(index)]); }

// NAME_q I8 [rows, columns], NAME_scale F32 [rows].
class Bytes final : public CodedMatrix {
 public:
  Bytes(const TensorView& codes, const TensorView& scale) : codes_(codes), scale_(scale) {
    kind_ = Kind::kBytes;
    columns_ = codes.shape[1];
    stored_bytes_ = codes.bytes.size() + scale.bytes.size();
  }

  void read(int64_t row, std::span<float> out) const override {
    const float scale = float_at(scale_, row);
    const std::byte* codes = codes_.bytes.data() + row * columns_;
    for (size_t i = 0; i < out.size(); ++i) out[i] = scale * static_cast<float>(static_cast<int8_t>(codes[i]));
  }
  float read_codes(int64_t row, std::span<int8_t> out) const override {
    std::memcpy(out.data(), codes_.bytes.data() + row * columns_, out.size());
    return float_at(scale_, row);
  }

 private:
  TensorView codes_, scale_;
};

// NAME_q U8 [rows, (columns + 1) / 2], the earlier column in the lower four bits; NAME_scale F16 [rows, groups]; NAME_zero U8
// [rows, groups] unless all zeros are 8.
class Groups final : public CodedMatrix {
 public:
  Groups(const TensorView& codes, const TensorView& scale, const TensorView* zero, int64_t columns, int group)
      : codes_(codes), scale_(scale) {
    kind_ = Kind::kGroups;
    columns_ = columns;
    group_ = group;
    has_zeros_ = zero != nullptr;
    if (has_zeros_) zero_ = *zero;
    stored_bytes_ = codes.bytes.size() + scale.bytes.size() + zero_.bytes.size();
  }

  void read(int64_t row, std::span<float> out) const override {
    GroupedRow groups;
    read_groups(row, groups);
    weights_of(groups, group_, out);
  }
  void read_groups(int64_t row, GroupedRow& out) const override {
    const int64_t row_bytes = (columns_ + 1) / 2;
    const size_t groups = static_cast<size_t>(group_count(static_cast<int>(columns_), group_));
    out.codes.resize(static_cast<size_t>(columns_));
    out.scales.resize(groups);
    out.zeros.resize(has_zeros_ ? groups : 0);
    for (int64_t i = 0; i < columns_; ++i) {
      out.codes[i] = static_cast<uint8_t>(byte_at(codes_, row * row_bytes + i / 2) >> 4 * (i % 2) & 15);
    }
    std::memcpy(out.scales.data(), scale_.bytes.data() + static_cast<size_t>(row) * groups * 2, groups * 2);
    for (size_t g = 0; g < out.zeros.size(); ++g) {
      out.zeros[g] = static_cast<uint8_t>(byte_at(zero_, row * static_cast<int64_t>(groups) + static_cast<int64_t>(g)) & 15);
    }
  }

 private:
  TensorView codes_, scale_, zero_;
};

class Finder {
 public:
  Finder(const QuantizationConfig& config, const TensorFinder& find) : config_(config), find_(find) {}

  // NAME of NAME_q, in our own format.
  Result<CodedTensor> own(const std::string& name) const {
    CodedTensor found;
    found.name = name;
    found.view = *TRY(part(name, kCodes, found));
    if (found.view.shape.size() != 2) return wrong(name, kCodes, found.view, "two dimensions");
    if (found.view.dtype == DType::kI8) {
      TRY_VOID(make_bytes(name, found));
    } else {
      TRY_VOID(make_groups(name, found));
    }
    found.view.coded = found.matrix.get();
    return found;
  }

 private:
  Result<const TensorView*> part(const std::string& name, std::string_view suffix, CodedTensor& found) const {
    const TensorView* view = find_(name + std::string(suffix));
    if (view == nullptr) return fail(ErrorCode::kCorrupt, "tensor '{}{}' is missing", name, suffix);
    found.parts.push_back(name + std::string(suffix));
    return view;
  }
  static tl::unexpected<Error> wrong(const std::string& name, std::string_view suffix, const TensorView& view,
                                     const std::string& wanted) {
    return fail(ErrorCode::kCorrupt, "tensor '{}{}' is {} {}, wanted {}", name, suffix, dtype_name(view.dtype),
                shape_text(view.shape), wanted);
  }

  Result<> make_bytes(const std::string& name, CodedTensor& found) const {
    const TensorView* scale = TRY(part(name, kScale, found));
    const int64_t rows = found.view.shape[0];
    if (scale->dtype != DType::kF32 || scale->shape != std::vector<int64_t>{rows})
      return wrong(name, kScale, *scale, fmt::format("F32 [{}]", rows));
    found.matrix = std::make_unique<Bytes>(found.view, *scale);
    return {};
  }

  // Two columns a byte, so an even number of them: what has an odd number is never written in four bits.
  Result<> make_groups(const std::string& name, CodedTensor& found) const {
    const TensorView* scale = TRY(part(name, kScale, found));
    const std::string zero_name = name + std::string(kZero);
    const TensorView* zero = find_(zero_name);
    if (zero != nullptr) found.parts.push_back(zero_name);
    const int64_t rows = found.view.shape[0];
    const int64_t columns = found.view.shape[1] * 2;
    if (found.view.dtype != DType::kU8 || columns > kMaxDimension) return wrong(name, kCodes, found.view, "U8");
    const int group = config_.group_size > 0 ? config_.group_size : static_cast<int>(std::max<int64_t>(columns, 1));
    const std::vector<int64_t> shape = {rows, group_count(static_cast<int>(columns), group)};
    if (scale->dtype != DType::kF16 || scale->shape != shape) return wrong(name, kScale, *scale, "F16 " + shape_text(shape));
    if (zero != nullptr && (zero->dtype != DType::kU8 || zero->shape != shape))
      return wrong(name, kZero, *zero, "U8 " + shape_text(shape));
    found.matrix = std::make_unique<Groups>(found.view, *scale, zero, columns, group);
    found.view.shape[1] = columns;
    return {};
  }

  const QuantizationConfig& config_;
  const TensorFinder& find_;
};

}  // namespace

Result<std::vector<CodedTensor>> find_coded_tensors(const QuantizationConfig& config, const std::vector<std::string>& names,
                                                    const TensorFinder& find) {
  std::vector<CodedTensor> found;
  if (!config.has_codes()) return found;
  const bool is_own = config.method == "inlay";
  const std::string_view suffix = is_own ? kCodes : kCodedWords;
  const Finder finder(config, find);
  for (const std::string& name : names) {
    if (!name.ends_with(suffix)) continue;
    const std::string stem = name.substr(0, name.size() - suffix.size());
    found.push_back(is_own ? TRY(finder.own(stem)) : TRY(read_coded_words(config, stem, find)));
  }
  return found;
}

}  // namespace inlay
