// Vectors stored in fewer bits. What sentence-transformers calls the precision of embeddings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inlay {

enum class OutputType : uint8_t {
  kFloat,    // float32
  kFp16,     // IEEE binary16
  kInt8,     // -128 to 127
  kUint8,    // 0 to 255
  kBinary,   // a bit a number, in bytes that are 128 lower than kUbinary's
  kUbinary,  // 1 where the number is above 0; the first in the highest bit, zeros behind the last: numpy.packbits
};
// "float", "fp16", "int8", "uint8", "binary", "ubinary"; "float32" and "float16" are read as well.
std::string_view output_type_name(OutputType type);
std::optional<OutputType> output_type_from_name(std::string_view name);
Result<OutputType> parse_output_type(std::string_view name);

constexpr bool is_integer(OutputType type) { return type == OutputType::kInt8 || type == OutputType::kUint8; }
constexpr bool is_packed(OutputType type) { return type == OutputType::kBinary || type == OutputType::kUbinary; }
// Of a vector of so many numbers.
size_t output_bytes(OutputType type, size_t dimensions);
// Numbers in a stored vector: packed bits are counted by the byte.
size_t output_columns(OutputType type, size_t dimensions);

// The least and the greatest value that each number of a vector takes. Integers spread over it in 256 steps, so that all of
// them are used; values outside go to its ends.
struct OutputRanges {
  std::vector<float> low;
  std::vector<float> high;

  void add(std::span<const float> vector);
  // The step of number `i`: 1 where all values were the same.
  float step(size_t i) const;

  // {"low":[…],"high":[…]}. read() refuses a file of another number of dimensions.
  Result<> write(const std::filesystem::path& path) const;
  static Result<OutputRanges> read(const std::filesystem::path& path, int dimensions);
};

// Writes output_bytes() bytes, little-endian. Integers need `ranges` (then they are floor((value - low) / step), 128 lower for
// kInt8, as sentence-transformers computes them), or without them are the numbers divided by the vector's own largest magnitude
// and spread over -127 to 127 (128 higher for kUint8), which keeps directions. Other types ignore `ranges`.
void encode_vector(std::span<const float> vector, OutputType type, const OutputRanges* ranges, std::span<std::byte> out);

// The number that a stored one stands for: for integers with ranges the middle of its step, for bits 1 or -1. `out` has the
// dimensions; `stored` what encode_vector wrote.
void decode_vector(std::span<const std::byte> stored, OutputType type, const OutputRanges* ranges, std::span<float> out);

}  // namespace inlay
