#include "base/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

namespace inlay {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the well-formed UTF-8 sequence that `text` begins with; 0 if it begins with none.
size_t sequence_length(std::string_view text) {
  const unsigned char lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);  // surrogates, above U+10FFFF
  return overlong || beyond ? 0 : length;
}

void append_escaped(std::string& out, char symbol) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (symbol) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (static_cast<unsigned char>(symbol) >= 0x20) {
    out += symbol;
    return;
  }
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(symbol) >> 4];
  out += kHex[static_cast<unsigned char>(symbol) & 15];
}

template <class Number>
void append_finite(std::string& out, Number value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 40> digits;  // The shortest form of a double has at most 24.
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 1) {
      append_escaped(out, text[0]);
    } else {
      out += length == 0 ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_json_number(std::string& out, float value) { append_finite(out, value); }
void append_json_number(std::string& out, double value) { append_finite(out, value); }

void JsonWriter::separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(text_, name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  append_json_number(text_, number);
  return *this;
}

JsonWriter& JsonWriter::value(float number) {
  separate();
  append_json_number(text_, number);
  return *this;
}

JsonWriter& JsonWriter::value(int64_t number) { return raw(std::to_string(number)); }
JsonWriter& JsonWriter::value(uint64_t number) { return raw(std::to_string(number)); }

void JsonWriter::clear() {
  text_.clear();
  needs_comma_ = false;
}

}  // namespace inlay
