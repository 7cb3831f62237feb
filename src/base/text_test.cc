#include "base/text.h"

#include <gmock/gmock.h>

namespace inlay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Text, TrimTakesWhiteSpaceAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \n\v\f"), "");
  EXPECT_EQ(trim("\xc2\xa0x"), "\xc2\xa0x") << "a no-break space is not ASCII";
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a:b:c", ':'), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split("::x:", ':'), ElementsAre("", "", "x", ""));
  EXPECT_THAT(split("", ':'), ElementsAre(""));
  EXPECT_THAT(split("abc", ':'), ElementsAre("abc"));
}

TEST(Text, SplitWordsHasNoEmptyWord) {
  EXPECT_THAT(split_words("  max \t 100000\n"), ElementsAre("max", "100000"));
  EXPECT_THAT(split_words("one"), ElementsAre("one"));
  EXPECT_THAT(split_words(" \n "), IsEmpty());
  EXPECT_THAT(split_words(""), IsEmpty());
}

TEST(Text, PartsAreViewsIntoTheTextGiven) {
  const std::string_view text = "left right";
  EXPECT_EQ(split_words(text)[1].data(), text.data() + 5);
  EXPECT_EQ(split(text, ' ')[1].data(), text.data() + 5);
}

}  // namespace
}  // namespace inlay
