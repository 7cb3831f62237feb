#include "server/api/vectors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "engine/output_type.h"

namespace inlay {

void finish_vector(std::vector<float>& vector, std::optional<int64_t> dimensions, bool normalize) {
  if (dimensions && *dimensions < static_cast<int64_t>(vector.size())) vector.resize(static_cast<size_t>(*dimensions));
  if (!normalize) return;
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * value;
  // The same steps as the model's own Normalize module, so that the bits are the same.
  const float norm = std::max(static_cast<float>(std::sqrt(squares)), 1e-12F);
  for (float& value : vector) value /= norm;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out += k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string float_bytes(std::span<const float> vector) {
  static_assert(std::endian::native == std::endian::little, "big-endian machines would have to swap bytes here");
  std::string bytes(vector.size_bytes(), '\0');
  if (!vector.empty()) std::memcpy(bytes.data(), vector.data(), vector.size_bytes());
  return bytes;
}

namespace {

// Each stored byte as the number that it is.
std::vector<int> stored_numbers(std::span<const float> vector, OutputType type) {
  std::vector<std::byte> bytes(output_bytes(type, vector.size()));
  encode_vector(vector, type, nullptr, bytes);
  const bool is_signed = type == OutputType::kInt8 || type == OutputType::kBinary;
  std::vector<int> numbers;
  numbers.reserve(bytes.size());
  for (const std::byte byte : bytes) numbers.push_back(is_signed ? int{static_cast<int8_t>(byte)} : static_cast<int>(byte));
  return numbers;
}

}  // namespace

std::vector<int> to_int8(std::span<const float> vector) { return stored_numbers(vector, OutputType::kInt8); }

std::vector<int> to_uint8(std::span<const float> vector) { return stored_numbers(vector, OutputType::kUint8); }

std::vector<int> to_ubinary(std::span<const float> vector) {
  INLAY_CHECK(vector.size() % 8 == 0, "the request was checked for whole bytes");
  return stored_numbers(vector, OutputType::kUbinary);
}

std::vector<int> to_binary(std::span<const float> vector) {
  INLAY_CHECK(vector.size() % 8 == 0, "the request was checked for whole bytes");
  return stored_numbers(vector, OutputType::kBinary);
}

void write_numbers(JsonWriter& json, std::span<const float> numbers) {
  json.begin_array();
  for (const float number : numbers) json.value(number);
  json.end_array();
}

void write_numbers(JsonWriter& json, std::span<const int> numbers) {
  json.begin_array();
  for (const int number : numbers) json.value(number);
  json.end_array();
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    squares_a += static_cast<double>(a[i]) * a[i];
    squares_b += static_cast<double>(b[i]) * b[i];
  }
  const double length = std::sqrt(squares_a) * std::sqrt(squares_b);
  return length == 0 ? 0 : dot / length;
}

}  // namespace inlay
