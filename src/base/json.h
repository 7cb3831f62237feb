// Reads JSON that strangers wrote. Errors name the file and the path of the field: `config.json: hidden_size: found a string,
// wanted an integer`. The only file that includes the JSON library.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inlay {

// A value inside a JsonDocument; cheap to copy; valid while the document lives.
class Json {
 public:
  Json(simdjson::dom::element element, std::string where) : element_(element), where_(std::move(where)) {}

  // "config.json: layers[3].name"; for messages.
  const std::string& where() const { return where_; }

  bool is_null() const { return element_.is_null(); }
  bool is_string() const { return element_.is_string(); }
  bool is_object() const { return element_.is_object(); }
  bool is_array() const { return element_.is_array(); }
  bool is_bool() const { return element_.is_bool(); }
  bool is_number() const { return element_.is_number(); }

  Result<std::string_view> as_string() const;
  Result<bool> as_bool() const;
  Result<int64_t> as_int() const;    // integers, and doubles without a fraction
  Result<double> as_double() const;  // any number
  // An integer in [low, high]; otherwise an error that says both.
  Result<int64_t> as_int_in(int64_t low, int64_t high) const;

  // Elements of an array, members of an object (in file order, duplicates kept); an error for anything else.
  Result<std::vector<Json>> items() const;
  Result<std::vector<std::pair<std::string_view, Json>>> members() const;
  // Visits the elements of an array / members of an object without building paths for each: for vocabularies.
  Result<simdjson::dom::array> raw_array() const;
  Result<simdjson::dom::object> raw_object() const;

  // The member `key` of an object. Missing or null gives nullopt; a value that is no object also gives nullopt.
  std::optional<Json> find(std::string_view key) const;
  // The same, but a missing or null member is an error.
  Result<Json> get(std::string_view key) const;

  // The member `key`, or `fallback` if it is missing or null; an error if it has another type.
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;
  Result<bool> bool_or(std::string_view key, bool fallback) const;
  Result<int64_t> int_or(std::string_view key, int64_t fallback) const;
  Result<double> double_or(std::string_view key, double fallback) const;

  simdjson::dom::element element() const { return element_; }

 private:
  tl::unexpected<Error> wrong_type(std::string_view wanted) const;

  simdjson::dom::element element_;
  std::string where_;
};

// Owns the text's parse. Not copyable; movable (values stay valid). Depth is limited to 256 levels.
// Integers beyond 64 bits are read as doubles, as Python's writers produce them.
class JsonDocument {
 public:
  // `name` starts every error message. Invalid UTF-8 or JSON is kCorrupt.
  static Result<JsonDocument> parse(std::string_view text, std::string name);
  // Reads at most `max_bytes` (a larger file is kTooLarge).
  static Result<JsonDocument> read(const std::filesystem::path& path, uint64_t max_bytes);

  Json root() const { return Json(root_, name_); }

 private:
  JsonDocument() = default;

  std::unique_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element root_;
  std::string name_;
};

}  // namespace inlay
