// Required members of a JSON object, by type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace inlay {

inline Result<std::string> get_string(const Json& json, std::string_view key) {
  return json.get(key).and_then([](const Json& value) { return value.as_string(); }).map([](std::string_view text) {
    return std::string(text);
  });
}

inline Result<bool> get_bool(const Json& json, std::string_view key) {
  return json.get(key).and_then([](const Json& value) { return value.as_bool(); });
}

inline Result<int64_t> get_int_in(const Json& json, std::string_view key, int64_t low, int64_t high) {
  return json.get(key).and_then([&](const Json& value) { return value.as_int_in(low, high); });
}

inline Result<std::vector<Json>> get_items(const Json& json, std::string_view key) {
  return json.get(key).and_then([](const Json& value) { return value.items(); });
}

}  // namespace inlay
