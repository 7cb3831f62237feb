// GPTQ: qweight [inputs / 8, outputs], word r of a column holds inputs 8 r to 8 r + 7 from the lowest bits up.
// AWQ: qweight [inputs, outputs / 8], word c of a row holds outputs 8 c to 8 c + 7 in the order kAwqOrder.
// Both: qzeros [groups, outputs / 8] in the order of their qweight's outputs (GPTQ's from the lowest bits up), scales [groups,
// outputs]. w = scale * (code - zero), and GPTQ stores zero - 1.
#include "weights/coded_words.h"

#include <array>
#include <cstring>

#include "quant/group_codes.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr int kPerWord = 8;
// The nibble that holds output 8 c + i.
constexpr std::array<int, kPerWord> kAwqOrder = {0, 4, 1, 5, 2, 6, 3, 7};

uint32_t word_at(const TensorView& view, int64_t row, int64_t column) {
  uint32_t word;
  std::memcpy(&word, view.bytes.data() + (row * view.shape[1] + column) * static_cast<int64_t>(sizeof(word)), sizeof(word));
  return word;
}

uint8_t nibble(uint32_t word, int index) { return static_cast<uint8_t>(word >> 4 * index & 15U); }

struct WordParts {
  TensorView weight, zeros, scales;
  int64_t inputs = 0;
  int64_t outputs = 0;
  int group = 0;
  bool is_awq = false;
  bool zero_is_less_one = false;
  std::vector<int> group_of;  // [inputs], or empty: consecutive groups
};

class Words final : public CodedMatrix {
 public:
  explicit Words(WordParts parts) : parts_(std::move(parts)) {
    kind_ = parts_.group_of.empty() ? Kind::kGroups : Kind::kScattered;
    columns_ = parts_.inputs;
    group_ = parts_.group;
    stored_bytes_ = parts_.weight.bytes.size() + parts_.zeros.bytes.size() + parts_.scales.bytes.size();
    for (int64_t g = 0; g < groups() && !has_zeros_; ++g) {
      for (int64_t row = 0; row < parts_.outputs && !has_zeros_; ++row) has_zeros_ = zero(g, row) != kMiddleCode;
    }
  }

  void read(int64_t row, std::span<float> out) const override {
    for (int64_t k = 0; k < columns_; ++k) {
      const int64_t g = parts_.group_of.empty() ? k / group_ : parts_.group_of[k];
      out[k] = fp16_to_float(scale(g, row)) * static_cast<float>(code(k, row) - zero(g, row));
    }
  }
  void read_groups(int64_t row, GroupedRow& out) const override {
    out.codes.resize(static_cast<size_t>(columns_));
    out.scales.resize(static_cast<size_t>(groups()));
    out.zeros.resize(has_zeros_ ? out.scales.size() : 0);
    for (int64_t k = 0; k < columns_; ++k) out.codes[k] = code(k, row);
    for (int64_t g = 0; g < groups(); ++g) {
      out.scales[g] = scale(g, row);
      if (has_zeros_) out.zeros[g] = zero(g, row);
    }
  }

 private:
  int64_t groups() const { return parts_.scales.shape[0]; }
  uint8_t code(int64_t k, int64_t row) const {
    if (parts_.is_awq) return nibble(word_at(parts_.weight, k, row / kPerWord), kAwqOrder[row % kPerWord]);
    return nibble(word_at(parts_.weight, k / kPerWord, row), static_cast<int>(k % kPerWord));
  }
  uint8_t zero(int64_t g, int64_t row) const {
    const int place = static_cast<int>(row % kPerWord);
    const uint8_t stored = nibble(word_at(parts_.zeros, g, row / kPerWord), parts_.is_awq ? kAwqOrder[place] : place);
    return static_cast<uint8_t>((stored + (parts_.zero_is_less_one ? 1 : 0)) & 15);
  }
  uint16_t scale(int64_t g, int64_t row) const {
    uint16_t bits;
    std::memcpy(&bits, parts_.scales.bytes.data() + (g * parts_.outputs + row) * 2, sizeof(bits));
    return parts_.scales.dtype == DType::kF16 ? bits : float_to_fp16(bf16_to_float(bits));
  }

  WordParts parts_;
};

class WordReader {
 public:
  WordReader(const QuantizationConfig& config, const std::string& name, const TensorFinder& find)
      : config_(config), name_(name), find_(find) {}

  Result<CodedTensor> read() {
    WordParts parts;
    parts.is_awq = config_.method == "awq";
    parts.zero_is_less_one = config_.zero_is_less_one;
    parts.weight = *TRY(part(".qweight", DType::kI32));
    parts.inputs = parts.weight.shape[0] * (parts.is_awq ? 1 : kPerWord);
    parts.outputs = parts.weight.shape[1] * (parts.is_awq ? kPerWord : 1);
    if (parts.inputs <= 0 || parts.outputs <= 0 || parts.inputs > kMost || parts.outputs > kMost)
      return fail(ErrorCode::kCorrupt, "tensor '{}.qweight' has shape {}", name_, shape_text(parts.weight.shape));
    parts.group = config_.group_size > 0 ? config_.group_size : static_cast<int>(parts.inputs);
    TRY_VOID(read_scales(parts));
    TRY_VOID(read_group_index(parts));
    CodedTensor found;
    found.name = name_ + ".weight";
    found.view = {DType::kI32, {parts.outputs, parts.inputs}, parts.weight.bytes};
    found.matrix = std::make_unique<Words>(std::move(parts));
    found.view.coded = found.matrix.get();
    found.parts = std::move(names_);
    return found;
  }

 private:
  static constexpr int64_t kMost = 1 << 28;

  Result<const TensorView*> part(std::string_view suffix, DType dtype) {
    const std::string name = name_ + std::string(suffix);
    const TensorView* view = find_(name);
    if (view == nullptr) return fail(ErrorCode::kCorrupt, "tensor '{}' is missing", name);
    const bool is_half = dtype == DType::kF16 && view->dtype == DType::kBF16;
    if ((view->dtype != dtype && !is_half) || view->shape.size() != 2) {
      return fail(ErrorCode::kCorrupt, "tensor '{}' is {} {}, wanted {} of two dimensions", name, dtype_name(view->dtype),
                  shape_text(view->shape), dtype_name(dtype));
    }
    names_.push_back(name);
    return view;
  }

  Result<> read_scales(WordParts& parts) {
    parts.scales = *TRY(part(".scales", DType::kF16));
    parts.zeros = *TRY(part(".qzeros", DType::kI32));
    const int64_t groups = (parts.inputs + parts.group - 1) / parts.group;
    const std::vector<int64_t> scales = {groups, parts.outputs};
    const std::vector<int64_t> zeros = {groups, (parts.outputs + kPerWord - 1) / kPerWord};
    if (parts.scales.shape == scales && parts.zeros.shape == zeros) return {};
    return fail(ErrorCode::kCorrupt, "tensors '{0}.scales' {1} and '{0}.qzeros' {2}: wanted {3} and {4}, for groups of {5}",
                name_, shape_text(parts.scales.shape), shape_text(parts.zeros.shape), shape_text(scales), shape_text(zeros),
                parts.group);
  }

  // g_idx says the group of each input; with act-order groups are not consecutive.
  Result<> read_group_index(WordParts& parts) {
    const std::string name = name_ + ".g_idx";
    const TensorView* view = find_(name);
    if (view == nullptr) return {};
    names_.push_back(name);
    if (view->dtype != DType::kI32 || view->shape != std::vector<int64_t>{parts.inputs})
      return fail(ErrorCode::kCorrupt, "tensor '{}' is {} {}, wanted I32 [{}]", name, dtype_name(view->dtype),
                  shape_text(view->shape), parts.inputs);
    std::vector<int> groups(static_cast<size_t>(parts.inputs));
    std::memcpy(groups.data(), view->bytes.data(), groups.size() * sizeof(int));
    bool is_consecutive = true;
    for (size_t k = 0; k < groups.size(); ++k) {
      if (groups[k] < 0 || groups[k] >= parts.scales.shape[0])
        return fail(ErrorCode::kCorrupt, "tensor '{}': group {} of input {}, there are {}", name, groups[k], k,
                    parts.scales.shape[0]);
      is_consecutive &= groups[k] == static_cast<int>(k) / parts.group;
    }
    if (!is_consecutive) parts.group_of = std::move(groups);
    return {};
  }

  const QuantizationConfig& config_;
  const std::string& name_;
  const TensorFinder& find_;
  std::vector<std::string> names_;
};

}  // namespace

Result<CodedTensor> read_coded_words(const QuantizationConfig& config, const std::string& name, const TensorFinder& find) {
  return WordReader(config, name, find).read();
}

}  // namespace inlay
