#include "engine/precision.h"

#include <utility>

namespace inlay {
namespace {

constexpr std::pair<Precision, std::string_view> kPrecisions[] = {
    {Precision::kAuto, "auto"},       {Precision::kFloat32, "float32"}, {Precision::kBFloat16, "bfloat16"},
    {Precision::kFloat16, "float16"}, {Precision::kInt8, "int8"},       {Precision::kInt4, "int4"},
};

}  // namespace

std::string_view precision_name(Precision precision) {
  for (const auto& [known, name] : kPrecisions) {
    if (known == precision) return name;
  }
  return "";
}

std::optional<Precision> precision_from_name(std::string_view name) {
  for (const auto& [precision, known] : kPrecisions) {
    if (known == name) return precision;
  }
  return std::nullopt;
}

Precision resolve_precision(Precision wanted, const Kernels& table) {
  if (wanted != Precision::kAuto) return wanted;
  return bf16_is_fast(table) ? Precision::kBFloat16 : Precision::kFloat32;
}

Precision resolve_precision(Precision wanted, const Kernels& table, const std::optional<QuantizationConfig>& quantization) {
  if (wanted != Precision::kAuto || !quantization) return resolve_precision(wanted, table);
  return precision_from_name(quantization->dtype).value_or(resolve_precision(wanted, table));
}

LoadPlan plan_for(Precision precision, const Kernels& table, const std::optional<QuantizationConfig>& quantization) {
  using Storage = EmbeddingTable::Storage;
  LoadPlan plan;
  plan.compute.kernels = &table;
  switch (precision) {
    case Precision::kAuto:
    case Precision::kFloat32: break;
    case Precision::kBFloat16:
      // Without fast bf16 products the weights are only stored in 16 bits and widened as they are read.
      plan.compute.format = table.has(Format::kBF16) ? Format::kBF16 : Format::kBF16Weights;
      plan.tables = Storage::kBF16;
      break;
    case Precision::kFloat16:
      plan.compute.format = Format::kHalfWeights;
      plan.tables = Storage::kF16;
      break;
    case Precision::kInt8:
      plan.compute.format = Format::kI8;
      plan.tables = Storage::kI8;
      break;
    case Precision::kInt4:
      plan.compute.format = quantization && quantization->method != "inlay" ? Format::kI4 : Format::kL4;
      plan.tables = Storage::kI8;
      break;
  }
  plan.keeps_floats = quantization && quantization->has_codes();
  if (plan.keeps_floats) plan.tables = Storage::kAsStored;
  if (is_narrow(plan.compute.format) && table.attention_bf16 != nullptr) {
    plan.compute.attention = plan.compute.attention_of_changed = AttentionKind::kBF16;
    // Short texts are left to bf16, and so are models that turn q and k: none whose weights are trained has been measured.
    if (takes_codes(plan.compute.format) && table.attention_codes != nullptr) plan.compute.attention = AttentionKind::kCodes;
  }
  return plan;
}

}  // namespace inlay
