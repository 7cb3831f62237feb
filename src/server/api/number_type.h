// The types in which clients may ask for a vector's numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace inlay {

enum class NumberType : uint8_t { kFloat32, kFloat16, kBfloat16, kInt8, kUint8, kBinary, kUbinary };

// "float32", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary".
std::optional<NumberType> number_type_from_name(std::string_view name);
// Packs eight numbers into a byte, so that their count must be a multiple of 8.
inline bool packs_bits(NumberType type) { return type == NumberType::kBinary || type == NumberType::kUbinary; }

// As JSON numbers: rounded to the type, and for the bit types one a byte.
void write_numbers(JsonWriter& json, NumberType type, std::span<const float> vector);
// As bytes, little-endian.
std::string number_bytes(NumberType type, std::span<const float> vector);

}  // namespace inlay
