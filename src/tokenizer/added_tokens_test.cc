#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

AddedTokenMatcher matcher(const std::vector<AddedToken>& tokens) {
  std::vector<AddedTokenMatcher::Pattern> patterns;
  for (const AddedToken& token : tokens) patterns.push_back({token.content, token});
  return AddedTokenMatcher::build(std::move(patterns)).value();
}

// "a<1:[M]>b": what stands around the matches and within them.
std::string marked(const AddedTokenMatcher& tokens, std::string_view text, bool skip_special = false) {
  AddedTokenMatcher::Cursor cursor;
  std::string result;
  size_t done = 0;
  while (const std::optional<AddedTokenMatcher::Match> match = tokens.find(text, text.size(), skip_special, cursor)) {
    if (done < match->begin) result += text.substr(done, match->begin - done);
    result += fmt::format("<{}:{}>", match->id, text.substr(match->begin, match->end - match->begin));
    done = match->end;
  }
  if (done < text.size()) result += text.substr(done);
  return result;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const AddedTokenMatcher tokens =
      matcher({{.content = "ab", .id = 1}, {.content = "abcd", .id = 2}, {.content = "bc", .id = 3}});
  EXPECT_EQ(marked(tokens, "abcdx"), "<2:abcd>x");
  EXPECT_EQ(marked(tokens, "abcx"), "<1:ab>cx");
  EXPECT_EQ(marked(tokens, "xbcab"), "x<3:bc><1:ab>");
}

TEST(AddedTokens, SingleWord) {
  const AddedTokenMatcher tokens = matcher({{.content = "cat", .id = 1, .single_word = true}, {.content = "ca", .id = 2}});
  EXPECT_EQ(marked(tokens, "concat cat"), "concat <1:cat>");
  EXPECT_EQ(marked(tokens, "a_cat cat_ écat cat."), "a_cat cat_ écat <1:cat>.");
  EXPECT_EQ(marked(tokens, "\u2028cat\u00A0"), "\u2028<1:cat>\u00A0");
}

TEST(AddedTokens, StripsWhiteSpaceButNotTwice) {
  const AddedTokenMatcher tokens =
      matcher({{.content = "[M]", .id = 1, .lstrip = true}, {.content = "[R]", .id = 2, .rstrip = true}});
  EXPECT_EQ(marked(tokens, "a  [M] b"), "a<1:  [M]> b");
  EXPECT_EQ(marked(tokens, "[R] \u3000 [M]"), "<2:[R] \u3000 ><1:[M]>");
}

TEST(AddedTokens, CaseH06SpecialTokensMayBePlainText) {
  const AddedTokenMatcher tokens = matcher({{.content = "[S]", .id = 1, .special = true}, {.content = "S", .id = 2}});
  EXPECT_EQ(marked(tokens, "[S]S"), "<1:[S]><2:S>");
  EXPECT_EQ(marked(tokens, "[S]S", true), "[S]<2:S>");
}

TEST(AddedTokens, GoOnWhereALimitStoppedThem) {
  const AddedTokenMatcher tokens = matcher({{.content = "[S]", .id = 1}});
  AddedTokenMatcher::Cursor cursor;
  EXPECT_FALSE(tokens.find("ab[S]c[S]", 2, false, cursor).has_value());
  EXPECT_EQ(tokens.find("ab[S]c[S]", 3, false, cursor)->begin, 2U);
  EXPECT_FALSE(tokens.find("ab[S]c[S]", 6, false, cursor).has_value());
  EXPECT_EQ(tokens.find("ab[S]c[S]", 9, false, cursor)->begin, 6U);
}

TEST(AddedTokens, ReadIllFormedText) {
  const AddedTokenMatcher tokens = matcher({{.content = "cat", .id = 1, .single_word = true, .lstrip = true}});
  EXPECT_EQ(marked(tokens, "\xE3\x80 cat\xC3"), "\xE3\x80<1: cat>\xC3");
  EXPECT_EQ(marked(tokens,
                   "\xE3\x80"
                   "cat"),
            "\xE3\x80<1:cat>");
}

}  // namespace
}  // namespace inlay
