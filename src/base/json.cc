#include "base/json.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/file.h"

namespace inlay {
namespace {

constexpr size_t kMaxDepth = 256;

const char* type_name(simdjson::dom::element_type type) {
  switch (type) {
    case simdjson::dom::element_type::ARRAY: return "an array";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64: return "an integer";
    case simdjson::dom::element_type::DOUBLE: return "a number";
    case simdjson::dom::element_type::STRING: return "a string";
    case simdjson::dom::element_type::BOOL: return "a boolean";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
  }
  return "an unknown type";
}

std::string child(const std::string& where, std::string_view key) {
  const bool is_root = where.find(": ") == std::string::npos;
  return fmt::format("{}{}{}", where, is_root ? ": " : ".", key);
}

bool is_number_character(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_beyond_64_bits(std::string_view number) {
  uint64_t magnitude = 0;
  const std::string_view digits = number.substr(number.starts_with('-') ? 1 : 0);
  const std::from_chars_result result = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  if (result.ptr != digits.data() + digits.size()) return false;
  return result.ec == std::errc::result_out_of_range || (number.starts_with('-') && magnitude > (1ULL << 63));
}

// Python writes int(1e30), its "no limit" in tokenizer_config.json, with all 31 digits. The JSON library reads integers of 64
// bits only and refuses the whole text, so such integers get an exponent here and become doubles.
std::string with_long_integers_as_doubles(std::string_view text) {
  std::string result;
  result.reserve(text.size() + 16);
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (in_string) {
      if (text[i] == '\\' && end < text.size()) ++end;
      in_string = text[i] != '"';
    } else if (text[i] == '"') {
      in_string = true;
    } else if (text[i] == '-' || std::isdigit(static_cast<unsigned char>(text[i]))) {
      while (end < text.size() && (is_number_character(text[end]) || text[end] == '-')) ++end;
    }
    const std::string_view piece = text.substr(i, end - i);
    result += piece;
    if (!in_string && is_beyond_64_bits(piece)) result += "e0";
    i = end;
  }
  return result;
}

simdjson::error_code parse_text(simdjson::dom::parser& parser, std::string_view text, simdjson::dom::element& root) {
  const simdjson::error_code error = parser.allocate(text.size(), kMaxDepth);
  return error == simdjson::SUCCESS ? parser.parse(text.data(), text.size()).get(root) : error;
}

}  // namespace

tl::unexpected<Error> Json::wrong_type(std::string_view wanted) const {
  return fail(ErrorCode::kCorrupt, "{}: found {}, wanted {}", where_, type_name(element_.type()), wanted);
}

Result<std::string_view> Json::as_string() const {
  std::string_view value;
  if (element_.get_string().get(value) != simdjson::SUCCESS) return wrong_type("a string");
  return value;
}

Result<bool> Json::as_bool() const {
  bool value = false;
  if (element_.get_bool().get(value) != simdjson::SUCCESS) return wrong_type("a boolean");
  return value;
}

Result<int64_t> Json::as_int() const {
  int64_t value = 0;
  if (element_.get_int64().get(value) == simdjson::SUCCESS) return value;
  double number = 0;
  if (element_.get_double().get(number) != simdjson::SUCCESS) return wrong_type("an integer");
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a double no longer names one integer.
  if (std::trunc(number) != number || std::abs(number) > kExact) {
    return fail(ErrorCode::kCorrupt, "{}: found {}, wanted an integer", where_, number);
  }
  return static_cast<int64_t>(number);
}

Result<double> Json::as_double() const {
  double value = 0;
  if (element_.get_double().get(value) != simdjson::SUCCESS) return wrong_type("a number");
  return value;
}

Result<int64_t> Json::as_int_in(int64_t low, int64_t high) const {
  const int64_t value = TRY(as_int());
  if (value < low || value > high) return fail(ErrorCode::kCorrupt, "{}: found {}, wanted {} to {}", where_, value, low, high);
  return value;
}

Result<std::vector<Json>> Json::items() const {
  const simdjson::dom::array array = TRY(raw_array());
  std::vector<Json> result;
  for (const simdjson::dom::element item : array) result.emplace_back(item, fmt::format("{}[{}]", where_, result.size()));
  return result;
}

Result<std::vector<std::pair<std::string_view, Json>>> Json::members() const {
  const simdjson::dom::object object = TRY(raw_object());
  std::vector<std::pair<std::string_view, Json>> result;
  for (const auto& [key, value] : object) result.emplace_back(key, Json(value, child(where_, key)));
  return result;
}

Result<simdjson::dom::array> Json::raw_array() const {
  simdjson::dom::array array;
  if (element_.get_array().get(array) != simdjson::SUCCESS) return wrong_type("an array");
  return array;
}

Result<simdjson::dom::object> Json::raw_object() const {
  simdjson::dom::object object;
  if (element_.get_object().get(object) != simdjson::SUCCESS) return wrong_type("an object");
  return object;
}

std::optional<Json> Json::find(std::string_view key) const {
  simdjson::dom::object object;
  simdjson::dom::element value;
  if (element_.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return Json(value, child(where_, key));
}

Result<Json> Json::get(std::string_view key) const {
  if (!is_object()) return wrong_type("an object");
  std::optional<Json> value = find(key);
  if (!value) return fail(ErrorCode::kCorrupt, "{} is missing", child(where_, key));
  return *std::move(value);
}

Result<std::string> Json::string_or(std::string_view key, std::string_view fallback) const {
  const std::optional<Json> value = find(key);
  return value ? value->as_string().map([](std::string_view text) { return std::string(text); }) : std::string(fallback);
}

Result<bool> Json::bool_or(std::string_view key, bool fallback) const {
  const std::optional<Json> value = find(key);
  return value ? value->as_bool() : fallback;
}

Result<int64_t> Json::int_or(std::string_view key, int64_t fallback) const {
  const std::optional<Json> value = find(key);
  return value ? value->as_int() : fallback;
}

Result<double> Json::double_or(std::string_view key, double fallback) const {
  const std::optional<Json> value = find(key);
  return value ? value->as_double() : fallback;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string name) {
  JsonDocument document;
  document.name_ = std::move(name);
  document.parser_ = std::make_unique<simdjson::dom::parser>();
  simdjson::error_code error = parse_text(*document.parser_, text, document.root_);
  if (error == simdjson::NUMBER_ERROR) {
    error = parse_text(*document.parser_, with_long_integers_as_doubles(text), document.root_);
  }
  if (error != simdjson::SUCCESS) {
    return fail(ErrorCode::kCorrupt, "{}: not valid JSON: {}", document.name_, simdjson::error_message(error));
  }
  return document;
}

Result<JsonDocument> JsonDocument::read(const std::filesystem::path& path, uint64_t max_bytes) {
  const std::string text = TRY(read_file(path, max_bytes));
  return parse(text, path.filename().string());
}

}  // namespace inlay
