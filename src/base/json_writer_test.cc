#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "base/json.h"

namespace inlay {
namespace {

TEST(JsonNumbers, ReadBackAsTheSameFloat) {
  std::mt19937 random(20240607);
  for (int i = 0; i < 100000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    std::string text;
    append_json_number(text, value);
    float back = 0;
    ASSERT_EQ(std::from_chars(text.data(), text.data() + text.size(), back).ptr, text.data() + text.size()) << text;
    ASSERT_EQ(std::bit_cast<uint32_t>(back), std::bit_cast<uint32_t>(value)) << text;
    const double wide = JsonDocument::parse(text, "number").value().root().as_double().value();
    ASSERT_EQ(std::bit_cast<uint32_t>(static_cast<float>(wide)), std::bit_cast<uint32_t>(value)) << text;
  }
}

TEST(JsonStrings, SurviveAReaderWhateverTheBytes) {
  std::string all;
  for (int byte = 0; byte < 128; ++byte) all += static_cast<char>(byte);
  all += "\u00e9\u4e2d\U0001F600";
  std::string text;
  append_json_string(text, all);
  EXPECT_EQ(JsonDocument::parse(text, "string").value().root().as_string().value(), all);
  std::string odd;
  append_json_string(odd, "a\xff\xed\xa0\x80\xc0\x80z\xe4\xb8");
  EXPECT_EQ(JsonDocument::parse(odd, "string").value().root().as_string().value(),
            "a\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdz\ufffd\ufffd");
}

TEST(JsonWriter, PutsCommasAndColons) {
  JsonWriter json;
  json.begin_object().key("a").begin_array().value(1).value("x").null().end_array();
  json.key("b").begin_object().end_object().key("c").value(true).key("d").raw("7").end_object();
  EXPECT_EQ(json.text(), R"({"a":[1,"x",null],"b":{},"c":true,"d":7})");
  json.clear();
  json.begin_array().begin_array().end_array().begin_array().value(0.5).end_array().end_array();
  EXPECT_EQ(json.text(), "[[],[0.5]]");
}

TEST(JsonWriter, HasNoNumberForInfinity) {
  JsonWriter json;
  json.begin_array().value(std::numeric_limits<float>::infinity()).value(std::nan("")).end_array();
  EXPECT_EQ(json.text(), "[null,null]");
}

}  // namespace
}  // namespace inlay
