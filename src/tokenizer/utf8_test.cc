#include "tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

// The right sides are what Python's bytes.decode("utf-8", "replace") gives.
TEST(Utf8, ReplacesEachMaximalIllFormedPart) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("a\x80z"), "a" + bad + "z");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), bad + bad);
  EXPECT_EQ(replace_invalid_utf8("\xE4\xB8"), bad);
  EXPECT_EQ(replace_invalid_utf8("\xE4\xB8z"), bad + "z");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), bad);
  EXPECT_EQ(replace_invalid_utf8("\xF0\x80\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), bad + bad + bad);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\x80\xC3"), bad + bad + bad);
  EXPECT_EQ(replace_invalid_utf8("é中😀"), "é中😀");
}

TEST(Utf8, EveryCodePointSurvivesARoundTripInBothDirections) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    char bytes[4];
    const size_t size = encode_utf8(code, bytes);
    const Decoded forward = decode_utf8(bytes, bytes + size);
    ASSERT_TRUE(forward.valid && forward.code == code && forward.size == size) << code;
    const Decoded backward = decode_utf8_before(bytes, bytes + size);
    ASSERT_TRUE(backward.valid && backward.code == code && backward.size == size) << code;
  }
}

TEST(Utf8, ReadsBackwardsOverIllFormedBytes) {
  const std::string text = "a\xE4\xB8";
  const Decoded last = decode_utf8_before(text.data(), text.data() + text.size());
  EXPECT_FALSE(last.valid);
  EXPECT_EQ(last.code, kReplacement);
}

TEST(Utf8, CountsCharacters) {
  EXPECT_EQ(count_chars("aé中😀"), 4U);
  EXPECT_EQ(count_chars(""), 0U);
}

TEST(Utf8, TellsAsciiAndValidity) {
  EXPECT_TRUE(is_ascii("123456789"));
  EXPECT_FALSE(is_ascii("12345678\xC3\xA9"));
  EXPECT_FALSE(is_ascii("\xC3\xA9"));
  EXPECT_TRUE(is_valid_utf8("12345678é"));
  EXPECT_FALSE(is_valid_utf8("12345678\xC3"));
}

}  // namespace
}  // namespace inlay
