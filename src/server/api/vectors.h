// What happens to a vector between the model and the wire: cut, normalise, shorten its numbers, encode.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace inlay {

// Keeps the first `dimensions` numbers, then divides by the length if asked; in this order, or a cut vector would not have unit
// length. A vector of zeros stays as it is.
void finish_vector(std::vector<float>& vector, std::optional<int64_t> dimensions, bool normalize);

// Standard alphabet, padded.
std::string base64(std::string_view bytes);
// Little-endian float32.
std::string float_bytes(std::span<const float> vector);

// Numbers divided by the vector's largest magnitude and spread over -127 to 127: directions, and so cosines, are kept; lengths
// are not.
std::vector<int> to_int8(std::span<const float> vector);
// The same, 128 higher.
std::vector<int> to_uint8(std::span<const float> vector);
// A bit is 1 where the number is above 0; eight to a byte, the first in the highest bit, as numpy.packbits does. The size must
// be a multiple of 8.
std::vector<int> to_ubinary(std::span<const float> vector);
// The same bytes minus 128, as sentence-transformers writes them.
std::vector<int> to_binary(std::span<const float> vector);

void write_numbers(JsonWriter& json, std::span<const float> numbers);
void write_numbers(JsonWriter& json, std::span<const int> numbers);

double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace inlay
