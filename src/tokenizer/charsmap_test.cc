#include "tokenizer/charsmap.h"

#include <gtest/gtest.h>

#include <random>

#include "tokenizer/grapheme.h"

namespace inlay {
namespace {

std::string map_bytes(std::initializer_list<uint32_t> units, std::string_view replacements) {
  std::string bytes;
  const auto put = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
  };
  put(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) put(unit);
  return bytes.append(replacements);
}

// "a" becomes "b".
std::string small_map() {
  using namespace std::string_view_literals;
  return map_bytes({0x60U << 10, 3U << 10 | 1U << 8 | 'a', 0x80000000U}, "b\0"sv);
}

std::string normalized(const CharsmapNormalizer& step, std::string text) {
  StepState state;
  step.apply(text, state);
  return text;
}

TEST(Charsmap, ReplacesCharactersAndDropsTheRestOfShortClusters) {
  const CharsmapNormalizer step(Charsmap::parse(small_map()).value());
  EXPECT_EQ(normalized(step, "banana"), "bbnbnb");
  EXPECT_EQ(normalized(step, "xa\u0301y"), "xby");                            // one cluster of 3 bytes
  EXPECT_EQ(normalized(step, "a\u0301\u0301\u0301"), "b\u0301\u0301\u0301");  // of 7
  EXPECT_EQ(normalized(step, ""), "");
}

TEST(Charsmap, RefusesSizesThatDoNotFit) {
  for (const std::string& bytes :
       {std::string(), std::string(3, 'x'), std::string(4, '\0'), map_bytes({}, "x"), small_map().substr(0, 9),
        std::string("\xff\xff\xff\xff", 4), std::string("\x06\0\0\0aaaaaa", 10), map_bytes({0}, "\xff")}) {
    EXPECT_FALSE(Charsmap::parse(bytes).has_value()) << bytes.size();
  }
}

TEST(Charsmap, DamagedMapsNeverReadOutside) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = small_map();
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    const Result<Charsmap> map = Charsmap::parse(bytes);
    for (const std::string_view text : {"a", "ab", "\u00e9", "abc\u0301"}) {
      if (map) static_cast<void>(map->find(text));
    }
  }
}

TEST(Charsmap, Base64) {
  EXPECT_EQ(decode_base64("").value(), "");
  EXPECT_EQ(decode_base64("TWFu").value(), "Man");
  EXPECT_EQ(decode_base64("TWE=").value(), "Ma");
  EXPECT_EQ(decode_base64("TQ==").value(), "M");
  for (const std::string_view text : {"TQ=", "T", "TQ=a", "T===", "TW*u"})
    EXPECT_FALSE(decode_base64(text).has_value()) << text;
}

TEST(Grapheme, Clusters) {
  EXPECT_EQ(grapheme_size("\r\nx", 0), 2U);
  EXPECT_EQ(grapheme_size("\n\u0301", 0), 1U);
  EXPECT_EQ(grapheme_size("e\u0301\u0302x", 0), 5U);
  EXPECT_EQ(grapheme_size("👩\u200d👧x", 0), 11U);
  EXPECT_EQ(grapheme_size("a\u200d👧", 0), 4U);
  EXPECT_EQ(grapheme_size("🇩🇪🇫", 0), 8U);
  EXPECT_EQ(grapheme_size("각\u11a8가", 0), 6U);
  EXPECT_EQ(grapheme_size("\u0915\u094d\u0924x", 0), 9U);
  EXPECT_EQ(grapheme_size("\u0600a", 0), 3U);
}

}  // namespace
}  // namespace inlay
