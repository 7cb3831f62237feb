#include "engine/output_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/output_file.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr std::pair<OutputType, std::string_view> kNames[] = {
    {OutputType::kFloat, "float"},   {OutputType::kFp16, "fp16"},     {OutputType::kInt8, "int8"},
    {OutputType::kUint8, "uint8"},   {OutputType::kBinary, "binary"}, {OutputType::kUbinary, "ubinary"},
    {OutputType::kFloat, "float32"}, {OutputType::kFp16, "float16"},
};
constexpr uint64_t kMostRangesBytes = 16 << 20;

std::byte low_byte(int value) { return static_cast<std::byte>(static_cast<unsigned>(value) & 0xFFU); }

void encode_floats(std::span<const float> vector, std::span<std::byte> out) {
  std::memcpy(out.data(), vector.data(), vector.size_bytes());
}

void encode_halves(std::span<const float> vector, std::span<std::byte> out) {
  for (size_t i = 0; i < vector.size(); ++i) {
    const uint16_t half = float_to_fp16(vector[i]);
    std::memcpy(out.data() + 2 * i, &half, sizeof(half));
  }
}

void encode_in_ranges(std::span<const float> vector, const OutputRanges& ranges, int offset, std::span<std::byte> out) {
  INLAY_CHECK(ranges.low.size() == vector.size(), "ranges are of the model's dimensions");
  for (size_t i = 0; i < vector.size(); ++i) {
    const float place = std::floor((vector[i] - ranges.low[i]) / ranges.step(i));
    out[i] = low_byte(static_cast<int>(std::clamp(place, 0.0F, 255.0F)) + offset);
  }
}

void encode_by_largest(std::span<const float> vector, int offset, std::span<std::byte> out) {
  float largest = 0;
  for (const float value : vector) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < vector.size(); ++i) {
    const int value = largest == 0 ? 0 : static_cast<int>(std::lround(static_cast<double>(vector[i]) / largest * 127));
    out[i] = low_byte(value + offset);
  }
}

void encode_bits(std::span<const float> vector, int offset, std::span<std::byte> out) {
  for (size_t byte = 0; byte < out.size(); ++byte) {
    int bits = 0;
    for (size_t bit = 0; bit < 8 && 8 * byte + bit < vector.size(); ++bit) {
      if (vector[8 * byte + bit] > 0) bits |= 128 >> bit;
    }
    out[byte] = low_byte(bits + offset);
  }
}

Result<std::vector<float>> read_numbers(const Json& root, const char* key, int dimensions) {
  std::vector<float> numbers;
  const Json list = TRY(root.get(key));
  for (const Json& number : TRY(list.items())) numbers.push_back(static_cast<float>(TRY(number.as_double())));
  if (numbers.size() == static_cast<size_t>(dimensions)) return numbers;
  return fail(ErrorCode::kInvalidArgument, "{}: {} numbers, the model's vectors have {}", list.where(), numbers.size(),
              dimensions);
}

}  // namespace

std::string_view output_type_name(OutputType type) {
  for (const auto& [known, name] : kNames) {
    if (known == type) return name;
  }
  return "";
}

std::optional<OutputType> output_type_from_name(std::string_view name) {
  for (const auto& [type, known] : kNames) {
    if (known == name) return type;
  }
  return std::nullopt;
}

Result<OutputType> parse_output_type(std::string_view name) {
  const std::optional<OutputType> type = output_type_from_name(name);
  if (type) return *type;
  return fail(ErrorCode::kInvalidArgument, "output type {}: wanted float, fp16, int8, uint8, binary or ubinary", name);
}

size_t output_bytes(OutputType type, size_t dimensions) {
  switch (type) {
    case OutputType::kFloat: return 4 * dimensions;
    case OutputType::kFp16: return 2 * dimensions;
    case OutputType::kInt8:
    case OutputType::kUint8: return dimensions;
    case OutputType::kBinary:
    case OutputType::kUbinary: return (dimensions + 7) / 8;
  }
  return 0;
}

size_t output_columns(OutputType type, size_t dimensions) { return is_packed(type) ? (dimensions + 7) / 8 : dimensions; }

void OutputRanges::add(std::span<const float> vector) {
  if (low.empty()) {
    low.assign(vector.begin(), vector.end());
    high = low;
  }
  for (size_t i = 0; i < vector.size(); ++i) {
    low[i] = std::min(low[i], vector[i]);
    high[i] = std::max(high[i], vector[i]);
  }
}

float OutputRanges::step(size_t i) const {
  const float step = (high[i] - low[i]) / 255;
  return step == 0 ? 1 : step;
}

Result<> OutputRanges::write(const std::filesystem::path& path) const {
  JsonWriter json;
  json.begin_object().key("low").begin_array();
  for (const float value : low) json.value(value);
  json.end_array().key("high").begin_array();
  for (const float value : high) json.value(value);
  json.end_array().end_object();
  return write_file(path.string(), json.take() + "\n");
}

Result<OutputRanges> OutputRanges::read(const std::filesystem::path& path, int dimensions) {
  const JsonDocument document = TRY(JsonDocument::read(path, kMostRangesBytes));
  OutputRanges ranges;
  ranges.low = TRY(read_numbers(document.root(), "low", dimensions));
  ranges.high = TRY(read_numbers(document.root(), "high", dimensions));
  for (size_t i = 0; i < ranges.low.size(); ++i) {
    if (ranges.low[i] <= ranges.high[i]) continue;
    return fail(ErrorCode::kInvalidArgument, "{}: number {}: low is {}, high only {}", path.string(), i, ranges.low[i],
                ranges.high[i]);
  }
  return ranges;
}

void encode_vector(std::span<const float> vector, OutputType type, const OutputRanges* ranges, std::span<std::byte> out) {
  INLAY_CHECK(out.size() == output_bytes(type, vector.size()), "the caller asked for the size");
  switch (type) {
    case OutputType::kFloat: return encode_floats(vector, out);
    case OutputType::kFp16: return encode_halves(vector, out);
    case OutputType::kInt8:
      return ranges != nullptr ? encode_in_ranges(vector, *ranges, -128, out) : encode_by_largest(vector, 0, out);
    case OutputType::kUint8:
      return ranges != nullptr ? encode_in_ranges(vector, *ranges, 0, out) : encode_by_largest(vector, 128, out);
    case OutputType::kBinary: return encode_bits(vector, -128, out);
    case OutputType::kUbinary: return encode_bits(vector, 0, out);
  }
}

void decode_vector(std::span<const std::byte> stored, OutputType type, const OutputRanges* ranges, std::span<float> out) {
  if (type == OutputType::kFloat) std::memcpy(out.data(), stored.data(), out.size_bytes());
  if (type == OutputType::kFloat) return;
  for (size_t i = 0; i < out.size(); ++i) {
    if (type == OutputType::kFp16) {
      uint16_t half = 0;
      std::memcpy(&half, stored.data() + 2 * i, sizeof(half));
      out[i] = fp16_to_float(half);
    } else if (is_packed(type)) {
      const unsigned bits = static_cast<unsigned>(stored[i / 8]) ^ (type == OutputType::kBinary ? 0x80U : 0U);
      out[i] = (bits & (128U >> (i % 8))) != 0 ? 1.0F : -1.0F;
    } else {
      const int code = type == OutputType::kInt8 ? static_cast<int8_t>(stored[i]) : static_cast<int>(stored[i]) - 128;
      out[i] =
          ranges == nullptr ? static_cast<float>(code) : ranges->low[i] + (static_cast<float>(code) + 128.5F) * ranges->step(i);
    }
  }
}

}  // namespace inlay
