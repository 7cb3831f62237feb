#include "server/api/number_type.h"

#include <array>
#include <utility>
#include <vector>

#include "server/api/vectors.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr std::array<std::pair<std::string_view, NumberType>, 7> kNames = {{{"float32", NumberType::kFloat32},
                                                                            {"float16", NumberType::kFloat16},
                                                                            {"bfloat16", NumberType::kBfloat16},
                                                                            {"int8", NumberType::kInt8},
                                                                            {"uint8", NumberType::kUint8},
                                                                            {"binary", NumberType::kBinary},
                                                                            {"ubinary", NumberType::kUbinary}}};

std::vector<int> to_integers(NumberType type, std::span<const float> vector) {
  if (type == NumberType::kInt8) return to_int8(vector);
  if (type == NumberType::kUint8) return to_uint8(vector);
  return type == NumberType::kBinary ? to_binary(vector) : to_ubinary(vector);
}

bool is_half(NumberType type) { return type == NumberType::kFloat16 || type == NumberType::kBfloat16; }

uint16_t to_half(NumberType type, float value) {
  return type == NumberType::kFloat16 ? float_to_fp16(value) : float_to_bf16(value);
}

}  // namespace

std::optional<NumberType> number_type_from_name(std::string_view name) {
  for (const auto& [known, type] : kNames) {
    if (known == name) return type;
  }
  return std::nullopt;
}

void write_numbers(JsonWriter& json, NumberType type, std::span<const float> vector) {
  if (type == NumberType::kFloat32) return write_numbers(json, vector);
  if (!is_half(type)) return write_numbers(json, to_integers(type, vector));
  json.begin_array();
  for (const float value : vector) {
    const uint16_t half = to_half(type, value);
    json.value(type == NumberType::kFloat16 ? fp16_to_float(half) : bf16_to_float(half));
  }
  json.end_array();
}

std::string number_bytes(NumberType type, std::span<const float> vector) {
  if (type == NumberType::kFloat32) return float_bytes(vector);
  std::string bytes;
  if (is_half(type)) {
    for (const float value : vector) {
      const uint16_t half = to_half(type, value);
      bytes += static_cast<char>(half & 0xFF);
      bytes += static_cast<char>(half >> 8);
    }
    return bytes;
  }
  for (const int value : to_integers(type, vector)) bytes += static_cast<char>(value);
  return bytes;
}

}  // namespace inlay
