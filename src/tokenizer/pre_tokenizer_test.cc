#include "tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/unicode.h"

namespace inlay {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> pieces(const PreTokenizer& step, std::string_view text) {
  std::vector<std::string_view> result;
  StepState state;
  step.split(text, state, result);
  return result;
}

// The expected values were measured with tokenizers 0.23.3.
TEST(BertSplit, Vectors) {
  const BertSplit split;
  EXPECT_THAT(pieces(split, "don't stop!! $5.00 e-mail x_y"),
              ElementsAre("don", "'", "t", "stop", "!", "!", "$", "5", ".", "00", "e", "-", "mail", "x", "_", "y"));
  EXPECT_THAT(pieces(split, "a、b。「c」"), ElementsAre("a", "、", "b", "。", "「", "c", "」"));
  EXPECT_THAT(pieces(split, "hello…world—ok"), ElementsAre("hello", "…", "world", "—", "ok"));
  EXPECT_THAT(pieces(split, "a\u2E43b"), ElementsAre("a\u2E43b"));
  EXPECT_THAT(pieces(split, "€5 ×3 😀ok"), ElementsAre("€5", "×3", "😀ok"));
  EXPECT_THAT(pieces(split, " \t\u3000"), ElementsAre());
}

TEST(CharSplit, Behaviors) {
  const std::string_view text = "the-final--countdown-";
  const auto split = [&](SplitBehavior behavior) { return pieces(CharSplit(kPunctuation, behavior), text); };
  EXPECT_THAT(split(SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split(SplitBehavior::kIsolated), ElementsAre("the", "-", "final", "-", "-", "countdown", "-"));
  EXPECT_THAT(split(SplitBehavior::kMergedWithPrevious), ElementsAre("the-", "final-", "-", "countdown-"));
  EXPECT_THAT(split(SplitBehavior::kMergedWithNext), ElementsAre("the", "-final", "-", "-countdown", "-"));
  EXPECT_THAT(split(SplitBehavior::kContiguous), ElementsAre("the", "-", "final", "--", "countdown", "-"));
}

TEST(WordSplit, KeepsRunsOfWordsAndOfSymbols) {
  EXPECT_THAT(pieces(WordSplit(), "Hey friend!  How_are++you?"),
              ElementsAre("Hey", "friend", "!", "How_are", "++", "you", "?"));
  EXPECT_THAT(pieces(WordSplit(), "你好\u200D"), ElementsAre("你好\u200D"));
}

}  // namespace
}  // namespace inlay
