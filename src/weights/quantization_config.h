// What a folder says about how its weights were made codes: quantization_config of config.json, or quantize_config.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace inlay {

struct QuantizationConfig {
  std::string method;    // "inlay", "gptq" or "awq"
  std::string dtype;     // of "inlay": float16, bfloat16, int8 or int4; else int4
  std::string rounding;  // of "inlay": rtn or gptq
  int bits = 4;
  int group_size = 0;  // 0: a whole row
  bool act_order = false;
  bool zero_is_less_one = false;  // "gptq" stores zeros less one, "gptq_v2" as they are

  // Whether weights are codes, so that layers held as floats were left out on purpose.
  bool has_codes() const { return dtype == "int8" || dtype == "int4"; }
};

// Nothing if the folder says nothing. Methods, widths and layouts that nobody here reads are kUnsupported.
Result<std::optional<QuantizationConfig>> read_quantization_config(const std::filesystem::path& folder);

}  // namespace inlay
