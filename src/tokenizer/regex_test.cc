#include "tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/split.h"

namespace inlay {
namespace {

using testing::ElementsAre;

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  const Regex regex = Regex::compile(pattern).value();
  RegexScratch scratch;
  Regex::Cursor cursor;
  std::vector<std::string> found;
  while (std::optional<Regex::Match> match = regex.next(text, cursor, scratch).value()) {
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
  }
  return found;
}

std::vector<std::string> split(std::string_view pattern, RegexSplit::Options options, std::string_view text) {
  StepState state;
  std::vector<std::string_view> pieces;
  RegexSplit(Regex::compile(pattern).value(), options).split(text, state, pieces);
  return {pieces.begin(), pieces.end()};
}

TEST(Regex, ReadsOnigurumasSpelling) {
  EXPECT_THAT(matches(R"(\h+)", "xyz 1aF g"), ElementsAre("1aF"));
  EXPECT_THAT(matches(R"(\s+)", "a\u180eb\u3000c\u0085d"), ElementsAre("\u3000", "\u0085"));
  EXPECT_THAT(matches(R"([^\S\n]+)", "a \t\n b"), ElementsAre(" \t", " "));
  EXPECT_THAT(matches(R"(\p{L}+)", "ab\U00031350c1"), ElementsAre("ab\U00031350c"));  // a letter since Unicode 15
  EXPECT_THAT(matches(R"([^\s\p{L}]+)", "ab\U00031350c1 2"), ElementsAre("1", "2"));
  EXPECT_THAT(matches(R"(x{,2}y)", "xxxy"), ElementsAre("xxy"));
  EXPECT_THAT(matches("^a$", "a\na"), ElementsAre("a", "a"));
  EXPECT_THAT(matches(R"(\bfoo\b)", "foo foob e\u0301foo"), ElementsAre("foo"));
  EXPECT_THAT(matches(R"([\w-]+)", "a-b c"), ElementsAre("a-b", "c"));
  EXPECT_THAT(matches(R"((?i:'s))", "'S '\u017f"), ElementsAre("'S", "'\u017f"));
}

TEST(Regex, TurnsDownWhatItMightReadDifferently) {
  for (const char* pattern :
       {"[a[b]]", "[a&&b]", "(*ACCEPT)", "(?#x)", "(?(1)a)", "(?P<a>b)", R"(\R)", R"(\X)", R"(\G)", R"(\K)", "a{2}+", "a{2}?",
        R"(\p{Foo})", R"([\D])", R"(\xE9)", "\\", R"(\0)", "(?m)a", "(?x) a"}) {
    EXPECT_FALSE(Regex::compile(pattern).has_value()) << pattern;
  }
  EXPECT_FALSE(Regex::compile(std::string(100000, 'a')).has_value());
  EXPECT_FALSE(Regex::compile("(").has_value());
  EXPECT_FALSE(Regex::compile("\xff").has_value());
}

TEST(Regex, EmptyMatchesDoNotFollowAMatch) { EXPECT_THAT(matches("a*", "baab"), ElementsAre("", "aa", "")); }

TEST(Regex, AHostileTextIsAnErrorInsteadOfAHang) {
  const Regex regex = Regex::compile("(a+)+b").value();
  RegexScratch scratch;
  Regex::Cursor cursor;
  EXPECT_FALSE(regex.next(std::string(40, 'a') + "c", cursor, scratch).has_value());
}

// Measured with tokenizers 0.23.3.
TEST(RegexSplit, Behaviors) {
  using enum SplitBehavior;
  EXPECT_THAT(split("-", {.behavior = kRemoved}, "the-final--countdown"), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split("-", {.behavior = kIsolated}, "the-final--countdown"),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split("-", {.behavior = kMergedWithPrevious}, "the-final--countdown"),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split("-", {.behavior = kMergedWithNext}, "the-final--countdown"),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(split("-", {.behavior = kContiguous}, "the-final--countdown"),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(split(R"(\w+)", {.behavior = kRemoved, .invert = true}, "Hey, man!"), ElementsAre("Hey", "man"));
}

// Case H08: the last space of a run goes to the next word.
TEST(RegexSplit, CaseH08RunsOfSpaces) {
  const auto gpt2 = [](std::string_view text) { return split(kGpt2Pattern, {}, text); };
  EXPECT_THAT(gpt2("a  b"), ElementsAre("a", " ", " b"));
  EXPECT_THAT(gpt2("trail   "), ElementsAre("trail", "   "));
  EXPECT_THAT(gpt2("x\n\n  y"), ElementsAre("x", "\n\n ", " y"));
  EXPECT_THAT(gpt2("it's they'll"), ElementsAre("it", "'s", " they", "'ll"));
}

TEST(RegexSplit, KnownPatternsMayBeCutAtSpaces) {
  EXPECT_TRUE(pattern_cuts_at_space(kGpt2Pattern));
  EXPECT_FALSE(pattern_cuts_at_space("x y"));
}

}  // namespace
}  // namespace inlay
