// The precision of the linear layers and of the embedding tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/encoder.h"

namespace inlay {

enum class Precision : uint8_t { kAuto, kFloat32, kBFloat16, kFloat16, kInt8, kInt4 };
std::string_view precision_name(Precision precision);
std::optional<Precision> precision_from_name(std::string_view name);

// What kAuto means with this table of kernels; any other precision is itself.
Precision resolve_precision(Precision wanted, const Kernels& table);
// The same for a folder: kAuto is what its weights were quantised to, if they were.
Precision resolve_precision(Precision wanted, const Kernels& table, const std::optional<QuantizationConfig>& quantization);
// How a model of this precision (not kAuto) is stored and computed with this table. A folder that is quantised keeps what it
// left in floats, and a checkpoint of groups is computed in them.
LoadPlan plan_for(Precision precision, const Kernels& table, const std::optional<QuantizationConfig>& quantization = {});

}  // namespace inlay
