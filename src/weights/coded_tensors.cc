#include "weights/coded_tensors.h"

#include <algorithm>
#include <cstring>

#include "quant/group_codes.h"
#include "quant/level_codes.h"
#include "weights/coded_words.h"

namespace inlay {
namespace {

constexpr int64_t kMaxDimension = 1 << 30;
constexpr std::string_view kCodes = "_q";
constexpr std::string_view kScale = "_scale";
constexpr std::string_view kFactor = "_factor";

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

// NAME_q U8 [rows, columns / 2], the earlier column in the lower four bits; NAME_factor U8 [rows, (groups + 1) / 2], the
// earlier group in the lower four bits, in two's complement; NAME_scale F32 [rows].
class Levels final : public CodedMatrix {
 public:
  Levels(const TensorView& codes, const TensorView& factors, const TensorView& scale, int group)
      : codes_(codes), factors_(factors), scale_(scale) {
    kind_ = Kind::kLevels;
    columns_ = codes.shape[1] * 2;
    group_ = group;
    stored_bytes_ = codes.bytes.size() + factors.bytes.size() + scale.bytes.size();
  }

  void read(int64_t row, std::span<float> out) const override {
    LevelRow levels;
    read_levels(row, levels);
    weights_of(levels, group_, out);
  }
  float read_codes(int64_t row, std::span<int8_t> out) const override {
    LevelRow levels;
    read_levels(row, levels);
    bytes_of(levels, group_, out);
    return levels.scale;
  }
  void read_levels(int64_t row, LevelRow& out) const override {
    out.codes.resize(static_cast<size_t>(columns_));
    out.factors.resize(static_cast<size_t>(group_count(static_cast<int>(columns_), group_)));
    for (size_t i = 0; i < out.codes.size(); ++i) out.codes[i] = static_cast<uint8_t>(four_bits(codes_, row, i));
    for (size_t g = 0; g < out.factors.size(); ++g) out.factors[g] = static_cast<int8_t>((four_bits(factors_, row, g) ^ 8) - 8);
    out.scale = float_at(scale_, row);
  }

 private:
  static int four_bits(const TensorView& view, int64_t row, size_t index) {
    return byte_at(view, row * view.shape[1] + static_cast<int64_t>(index / 2)) >> 4 * (index % 2) & 15;
  }

  TensorView codes_, factors_, scale_;
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
      TRY_VOID(make_levels(name, found));
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
  Result<> make_levels(const std::string& name, CodedTensor& found) const {
    const TensorView* scale = TRY(part(name, kScale, found));
    const TensorView* factors = TRY(part(name, kFactor, found));
    const int64_t rows = found.view.shape[0];
    const int64_t columns = found.view.shape[1] * 2;
    if (found.view.dtype != DType::kU8 || columns > kMaxDimension) return wrong(name, kCodes, found.view, "U8");
    const int group = config_.group_size > 0 ? config_.group_size : static_cast<int>(std::max<int64_t>(columns, 1));
    const std::vector<int64_t> shape = {rows, (group_count(static_cast<int>(columns), group) + 1) / 2};
    if (factors->dtype != DType::kU8 || factors->shape != shape)
      return wrong(name, kFactor, *factors, "U8 " + shape_text(shape));
    if (scale->dtype != DType::kF32 || scale->shape != std::vector<int64_t>{rows})
      return wrong(name, kScale, *scale, fmt::format("F32 [{}]", rows));
    found.matrix = std::make_unique<Levels>(found.view, *factors, *scale, group);
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
