// Writes JSON text into a string. The counterpart of base/json.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

// Appends "text" with quotes and escapes. Ill-formed UTF-8 becomes U+FFFD, so that the output is always valid JSON.
void append_json_string(std::string& out, std::string_view text);
// Appends the shortest decimal that reads back as the same float; null for what JSON has no number for.
void append_json_number(std::string& out, float value);
void append_json_number(std::string& out, double value);

// Puts commas and colons; the caller keeps begin/end and key/value in order. Reusable after clear().
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(double number);
  JsonWriter& value(float number);
  JsonWriter& value(int64_t number);
  JsonWriter& value(uint64_t number);
  JsonWriter& value(int number) { return value(static_cast<int64_t>(number)); }
  JsonWriter& null() { return raw("null"); }
  // A value that is JSON text already.
  JsonWriter& raw(std::string_view json);

  const std::string& text() const { return text_; }
  // Moves the text out; the writer is empty then.
  std::string take() {
    needs_comma_ = false;
    return std::exchange(text_, {});
  }
  void clear();

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace inlay
