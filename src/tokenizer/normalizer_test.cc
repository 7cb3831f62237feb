#include "tokenizer/normalizer.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

std::string bert(std::string text, const BertOptions& options = {}) {
  StepState state;
  BertNormalizer(options).apply(text, state);
  return text;
}

template <class Step>
std::string applied(const Step& step, std::string text) {
  StepState state;
  step.apply(text, state);
  return text;
}

// The expected values were measured with tokenizers 0.23.3.
TEST(BertNormalizer, UncasedVectors) {
  EXPECT_EQ(bert("Ünïcode\u00A0Café"), "unicode cafe");
  EXPECT_EQ(bert("한국"), "\u1112\u1161\u11AB\u1100\u116E\u11A8");
  EXPECT_EQ(bert("日本語テスト"), " 日  本  語 テスト");
  EXPECT_EQ(bert("zero\u200Bwidth"), "zerowidth");
  EXPECT_EQ(bert("soft\u00ADhyphen"), "softhyphen");
  EXPECT_EQ(bert("ß İI Å \u212A"), "ß ii a k");
  EXPECT_EQ(bert("Ⅳ½"), "ⅳ½");
  EXPECT_EQ(bert("ﬁ ①"), "ﬁ ①");
  EXPECT_EQ(bert("Ǆ"), "ǆ");
  EXPECT_EQ(bert(std::string("a\0b\uFFFDc", 7)), "abc");
  EXPECT_EQ(bert("й ё"), "и е");
  EXPECT_EQ(bert("\U0002B820x\U0002B920y"), "\U0002B820x \U0002B920 y");
}

TEST(BertNormalizer, CasedKeepsAccents) {
  EXPECT_EQ(bert("Café 中", {.strip_accents = false, .lowercase = false}), "Café  中 ");
}

TEST(BertNormalizer, KeepsMarksThatAreNewerThanUnicode8) {
  EXPECT_EQ(bert("a\u07FD"), "a\u07FD");
  EXPECT_EQ(bert("a\u0301"), "a");
}

TEST(BertNormalizer, DeletesControlsInsteadOfSpacingThem) { EXPECT_EQ(bert("a\u000Bb\u0085c\u001Cd\te"), "abcd e"); }

TEST(Normalizers, NormalForms) {
  EXPECT_EQ(to_normal_form("é", NormalForm::kNfd), "e\u0301");
  EXPECT_EQ(to_normal_form("e\u0301", NormalForm::kNfc), "é");
  EXPECT_EQ(to_normal_form("\u1E69", NormalForm::kNfd), "s\u0323\u0307");
  EXPECT_EQ(to_normal_form("s\u0307\u0323", NormalForm::kNfc), "\u1E69");
  EXPECT_EQ(to_normal_form("ﬁ①", NormalForm::kNfkc), "fi1");
  EXPECT_EQ(to_normal_form("한", NormalForm::kNfkd), "\u1112\u1161\u11AB");
  EXPECT_EQ(to_normal_form("\u1112\u1161\u11AB", NormalForm::kNfc), "한");
  EXPECT_EQ(to_normal_form("\u0344", NormalForm::kNfc), "\u0308\u0301");
}

TEST(Normalizers, CaseH45AHundredThousandMarksAreSortedInTime) {
  std::string text = "a";
  for (int i = 0; i < 50'000; ++i) text += "\u0301\u0323";
  const std::string sorted = to_normal_form(text, NormalForm::kNfd);
  ASSERT_EQ(sorted.size(), text.size());
  EXPECT_EQ(sorted.substr(0, 5), "a\u0323\u0323");
  EXPECT_EQ(sorted.substr(sorted.size() - 4), "\u0301\u0301");
}

TEST(Normalizers, LowercaseHasNoContext) {
  EXPECT_EQ(applied(LowercaseNormalizer(), "ΟΔΟΣ"), "οδοσ");
  EXPECT_EQ(applied(LowercaseNormalizer(), "İ"), "i\u0307");
}

TEST(Normalizers, StripTakesAnyWhiteSpace) {
  EXPECT_EQ(applied(StripNormalizer(true, true), "\u3000\u0085 a b\t\u2028"), "a b");
  EXPECT_EQ(applied(StripNormalizer(true, false), " a "), "a ");
  EXPECT_EQ(applied(StripNormalizer(false, true), " a "), " a");
  EXPECT_EQ(applied(StripNormalizer(true, true), " \t "), "");
}

TEST(Normalizers, ReplaceAndPrepend) {
  EXPECT_EQ(applied(ReplaceNormalizer("aa", "b"), "aaaaa"), "bba");
  EXPECT_EQ(applied(PrependNormalizer("▁"), "x"), "▁x");
  EXPECT_EQ(applied(PrependNormalizer("▁"), ""), "");
}

TEST(Normalizers, StripAccentsDoesNotDecompose) { EXPECT_EQ(applied(StripAccentsNormalizer(), "e\u0301é"), "eé"); }

}  // namespace
}  // namespace inlay
