#include "jobs/layer_rounder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "backend/linear.h"
#include "quant/gptq.h"
#include "quant/group_codes.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr int kChunkRows = 64;

// The rows of one matrix as they come out, in their new form.
class RowWriter {
 public:
  RowWriter(const std::string& name, const TensorView& view, WeightType type, int group)
      : name_(name), rows_(view.shape[0]), columns_(view.shape[1]), type_(type), group_(group) {
    const size_t rows = static_cast<size_t>(rows_);
    const size_t columns = static_cast<size_t>(columns_);
    switch (type) {
      case WeightType::kFloat16:
      case WeightType::kBFloat16: codes_.resize(rows * columns * 2); break;
      case WeightType::kInt8:
        codes_.resize(rows * columns);
        scales_.resize(rows * sizeof(float));
        break;
      case WeightType::kInt4:
        codes_.resize(rows * (columns / 2));
        scales_.resize(rows * sizeof(float));
        factors_.resize(rows * static_cast<size_t>(factor_bytes()));
        break;
    }
  }

  // Puts a row and leaves in `row` what it stands for from now on.
  Result<> put(int64_t index, std::span<float> row) {
    if (type_ == WeightType::kInt8) return put_bytes(index, row);
    if (type_ == WeightType::kInt4) {
      LevelRow levels;
      TRY_VOID(round_to_levels(row, group_, levels).map_error(within(fmt::format("row {}", index))));
      put_levels(index, levels, row);
      return {};
    }
    return put_halves(index, row);
  }
  void put_levels(int64_t index, const LevelRow& levels, std::span<float> row) {
    std::byte* const codes = codes_.data() + index * (columns_ / 2);
    for (size_t i = 0; i < levels.codes.size(); ++i) put_four_bits(codes, i, levels.codes[i]);
    std::byte* const factors = factors_.data() + index * factor_bytes();
    for (size_t g = 0; g < levels.factors.size(); ++g) put_four_bits(factors, g, levels.factors[g]);
    std::memcpy(scales_.data() + static_cast<size_t>(index) * sizeof(float), &levels.scale, sizeof(float));
    weights_of(levels, group_, row);
  }

  RoundedTensor take() && {
    RoundedTensor out;
    out.name = name_;
    const bool is_coded = type_ == WeightType::kInt8 || type_ == WeightType::kInt4;
    out.storage.push_back(std::move(codes_));
    if (is_coded) out.storage.push_back(std::move(scales_));
    if (type_ == WeightType::kInt4) out.storage.push_back(std::move(factors_));
    switch (type_) {
      case WeightType::kFloat16: add(out, "", DType::kF16, {rows_, columns_}); break;
      case WeightType::kBFloat16: add(out, "", DType::kBF16, {rows_, columns_}); break;
      case WeightType::kInt8:
        add(out, "_q", DType::kI8, {rows_, columns_});
        add(out, "_scale", DType::kF32, {rows_});
        break;
      case WeightType::kInt4:
        add(out, "_q", DType::kU8, {rows_, columns_ / 2});
        add(out, "_scale", DType::kF32, {rows_});
        add(out, "_factor", DType::kU8, {rows_, factor_bytes()});
        break;
    }
    return out;
  }

 private:
  void add(RoundedTensor& out, std::string_view suffix, DType dtype, std::vector<int64_t> shape) const {
    const std::vector<std::byte>& bytes = out.storage[out.tensors.size()];
    out.tensors.push_back({name_ + std::string(suffix), dtype, std::move(shape), bytes});
  }
  // Two factors of four bits a byte.
  int64_t factor_bytes() const { return (group_count(static_cast<int>(columns_), group_) + 1) / 2; }
  static void put_four_bits(std::byte* bytes, size_t index, int value) {
    bytes[index / 2] |= static_cast<std::byte>((value & 15) << 4 * (index % 2));
  }
  // As the packing of int8 layers does it: loading what this writes gives the codes that loading the floats would have given.
  Result<> put_bytes(int64_t index, std::span<float> row) {
    float highest = 0;
    for (const float weight : row) {
      if (!std::isfinite(weight)) return fail(ErrorCode::kUnsupported, "row {}: weight {} has no 8-bit code", index, weight);
      highest = std::max(highest, std::abs(weight));
    }
    const float scale = highest / 127.0F;
    const float inverse = highest > 0 ? 127.0F / highest : 0.0F;
    for (size_t i = 0; i < row.size(); ++i) {
      const float code = std::clamp(std::nearbyint(row[i] * inverse), -127.0F, 127.0F);
      codes_[static_cast<size_t>(index * columns_) + i] = static_cast<std::byte>(static_cast<int8_t>(code));
      row[i] = scale * code;
    }
    std::memcpy(scales_.data() + static_cast<size_t>(index) * sizeof(float), &scale, sizeof(scale));
    return {};
  }
  Result<> put_halves(int64_t index, std::span<float> row) {
    const bool is_bf16 = type_ == WeightType::kBFloat16;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!is_bf16 && std::abs(row[i]) > kFp16Max)
        return fail(ErrorCode::kUnsupported, "row {}: weight {} does not fit float16; take bfloat16", index, row[i]);
      const uint16_t bits = is_bf16 ? float_to_bf16(row[i]) : float_to_fp16(row[i]);
      std::memcpy(codes_.data() + (static_cast<size_t>(index * columns_) + i) * 2, &bits, sizeof(bits));
      row[i] = is_bf16 ? bf16_to_float(bits) : fp16_to_float(bits);
    }
    return {};
  }

  std::string name_;
  int64_t rows_, columns_;
  WeightType type_;
  int group_;
  std::vector<std::byte> codes_, scales_, factors_;
};

// Sums of w H w^T over rows w.
class OutputNorm {
 public:
  OutputNorm(int k, std::span<const float> sums) : kernels_(kernels()), k_(static_cast<size_t>(k)) {
    if (sums.empty()) return;
    const PackedLinear::RowSource row = [sums, this](int i, std::span<float> out) -> Result<> {
      std::copy_n(sums.begin() + static_cast<int64_t>(static_cast<size_t>(i) * k_), k_, out.begin());
      return {};
    };
    Team alone(1);
    sums_ = *PackedLinear::pack(kernels_, Format::kF32, k, k, row, {}, alone);
    stride_ = round_up(static_cast<size_t>(sums_->shape().padded_columns), 64);
    input_ = Buffer((kChunkRows + 1) * stride_ * sizeof(float));
    product_ = Buffer((kChunkRows + 1) * stride_ * sizeof(float));
  }

  // `rows` is [count, k], count at most kChunkRows.
  double of(std::span<const float> rows) {
    double sum = 0;
    if (!sums_) {
      for (const float value : rows) sum += double{value} * value;
      return sum;
    }
    const size_t count = rows.size() / k_;
    for (size_t r = 0; r < count; ++r)
      std::copy_n(rows.begin() + static_cast<int64_t>(r * k_), k_, input_.as<float>() + r * stride_);
    const int64_t stride = static_cast<int64_t>(stride_);
    linear(kernels_, Share{},
           {.weights = *sums_,
            .input = {input_.as<float>(), stride},
            .rows = static_cast<int>(count),
            .output = product_.as<float>(),
            .output_stride = stride});
    for (size_t r = 0; r < count; ++r) {
      for (size_t i = 0; i < k_; ++i)
        sum += double{input_.as<float>()[r * stride_ + i]} * product_.as<float>()[r * stride_ + i];
    }
    return sum;
  }

 private:
  const Kernels& kernels_;
  size_t k_;
  std::optional<PackedLinear> sums_;
  size_t stride_ = 0;
  Buffer input_, product_;
};

}  // namespace

std::string_view weight_type_name(WeightType type) {
  switch (type) {
    case WeightType::kFloat16: return "float16";
    case WeightType::kBFloat16: return "bfloat16";
    case WeightType::kInt8: return "int8";
    case WeightType::kInt4: return "int4";
  }
  return "";
}

uint64_t RoundedTensor::bytes() const {
  uint64_t sum = 0;
  for (const std::vector<std::byte>& part : storage) sum += part.size();
  return sum;
}

struct LayerRounder::Impl {
  Impl(const RoundingOptions& rounding, int inputs, std::span<const float> sums)
      : options(rounding), k(static_cast<size_t>(inputs)), norm(inputs, sums) {}

  RoundingOptions options;
  size_t k;
  OutputNorm norm;
  std::optional<Gptq> gptq;
  double error = 0;
  double size = 0;

  // Rows [begin, begin + count) of the matrix; `rows` becomes what they stand for.
  Result<> round(int64_t begin, std::span<float> rows, RowWriter& writer) const {
    const size_t count = rows.size() / k;
    if (gptq) {
      std::vector<LevelRow> levels(count);
      TRY_VOID(gptq->round(rows, levels));
      for (size_t r = 0; r < count; ++r) writer.put_levels(begin + static_cast<int64_t>(r), levels[r], rows.subspan(r * k, k));
      return {};
    }
    for (size_t r = 0; r < count; ++r) TRY_VOID(writer.put(begin + static_cast<int64_t>(r), rows.subspan(r * k, k)));
    return {};
  }
};

LayerRounder::LayerRounder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LayerRounder::LayerRounder(LayerRounder&&) noexcept = default;
LayerRounder& LayerRounder::operator=(LayerRounder&&) noexcept = default;
LayerRounder::~LayerRounder() = default;

Result<LayerRounder> LayerRounder::make(const RoundingOptions& options, int k, std::span<const float> input_sums) {
  std::unique_ptr<Impl> impl = std::make_unique<Impl>(options, k, input_sums);
  if (options.use_gptq) {
    if (input_sums.empty()) return fail(ErrorCode::kInvalidArgument, "gptq needs texts");
    GptqOptions gptq;
    gptq.group = options.group;
    gptq.act_order = options.act_order;
    impl->gptq = TRY(Gptq::make(input_sums, k, gptq));
  }
  return LayerRounder(std::move(impl));
}

Result<RoundedTensor> LayerRounder::round(const std::string& name, const TensorView& view) {
  RowWriter writer(name, view, impl_->options.type, impl_->options.group);
  std::vector<float> before, after;
  for (int64_t row = 0; row < view.shape[0]; row += kChunkRows) {
    const int64_t count = std::min<int64_t>(kChunkRows, view.shape[0] - row);
    before.resize(static_cast<size_t>(count) * impl_->k);
    TRY_VOID(to_float(view, row * view.shape[1], before).map_error(within(name)));
    after = before;
    TRY_VOID(impl_->round(row, after, writer).map_error(within(name)));
    impl_->size += impl_->norm.of(before);
    for (size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
    impl_->error += impl_->norm.of(after);
  }
  return std::move(writer).take();
}

double LayerRounder::error() const { return impl_->size > 0 ? std::sqrt(std::max(impl_->error, 0.0) / impl_->size) : 0; }

Result<RoundedTensor> round_table(const std::string& name, const TensorView& view, WeightType type, int group) {
  RowWriter writer(name, view, type, group);
  std::vector<float> row(static_cast<size_t>(view.shape[1]));
  for (int64_t r = 0; r < view.shape[0]; ++r) {
    TRY_VOID(to_float(view, r * view.shape[1], row).map_error(within(name)));
    TRY_VOID(writer.put(r, row).map_error(within(name)));
  }
  return std::move(writer).take();
}

}  // namespace inlay
