#include "weights/quantization_config.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxConfigBytes = 16'000'000;
constexpr int64_t kMaxGroup = 1 << 20;

Result<> read_own(const Json& json, QuantizationConfig& config) {
  static constexpr std::array<std::string_view, 4> kDtypes = {"float16", "bfloat16", "int8", "int4"};
  config.dtype = TRY(json.string_or("dtype", ""));
  config.rounding = TRY(json.string_or("method", ""));
  if (std::find(kDtypes.begin(), kDtypes.end(), config.dtype) != kDtypes.end()) return {};
  return fail(ErrorCode::kUnsupported, "{}: dtype is '{}', wanted float16, bfloat16, int8 or int4", json.where(), config.dtype);
}

Result<> read_gptq(const Json& json, QuantizationConfig& config) {
  const std::string format = TRY(json.string_or("checkpoint_format", "gptq"));
  config.zero_is_less_one = format == "gptq";
  if (format == "gptq" || format == "gptq_v2") return {};
  return fail(ErrorCode::kUnsupported, "{}: checkpoint_format is '{}', wanted gptq or gptq_v2", json.where(), format);
}

Result<> read_awq(const Json& json, QuantizationConfig& config) {
  config.bits = static_cast<int>(TRY(json.int_or("w_bit", config.bits)));
  config.group_size = static_cast<int>(TRY(json.int_or("q_group_size", config.group_size)));
  const std::string version = TRY(json.string_or("version", "gemm"));
  if (version == "gemm" || version == "GEMM") return {};
  return fail(ErrorCode::kUnsupported, "{}: version is '{}', wanted gemm", json.where(), version);
}

Result<> read_method(const Json& json, QuantizationConfig& config) {
  if (config.method == "inlay") return read_own(json, config);
  config.dtype = "int4";
  if (config.method == "gptq") return read_gptq(json, config);
  if (config.method == "awq") return read_awq(json, config);
  return fail(ErrorCode::kUnsupported, "{}: quant_method is '{}', wanted inlay, gptq or awq", json.where(), config.method);
}

Result<QuantizationConfig> read_config(const Json& json) {
  QuantizationConfig config;
  // quantize_config.json of AutoGPTQ names no method.
  config.method = TRY(json.string_or("quant_method", "gptq"));
  config.bits = static_cast<int>(TRY(json.int_or("bits", config.bits)));
  config.group_size = static_cast<int>(std::clamp<int64_t>(TRY(json.int_or("group_size", 0)), -1, kMaxGroup));
  config.act_order = TRY(json.bool_or("desc_act", false));
  TRY_VOID(read_method(json, config));
  config.group_size = std::max(config.group_size, 0);  // -1 is a whole row, too.
  if (config.method != "inlay" && config.bits != 4)
    return fail(ErrorCode::kUnsupported, "{}: bits is {}, wanted 4", json.where(), config.bits);
  return config;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

Result<std::optional<QuantizationConfig>> read_quantization_config(const std::filesystem::path& folder) {
  if (is_there(folder / "config.json")) {
    const JsonDocument document = TRY(JsonDocument::read(folder / "config.json", kMaxConfigBytes));
    if (const std::optional<Json> json = document.root().find("quantization_config")) return TRY(read_config(*json));
  }
  if (!is_there(folder / "quantize_config.json")) return std::nullopt;
  const JsonDocument document = TRY(JsonDocument::read(folder / "quantize_config.json", kMaxConfigBytes));
  return TRY(read_config(document.root()));
}

}  // namespace inlay
