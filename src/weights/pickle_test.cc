#include "weights/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/test_files.h"

namespace inlay {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 2> kNames = {"collections OrderedDict", "torch Size"};

Result<Pickle> read_text(std::string_view text) { return read_pickle(as_bytes(text), kNames, "p"); }

std::string pickle_error(std::string_view text) {
  const Result<Pickle> pickle = read_text(text);
  return pickle ? "no error" : pickle.error().message;
}

TEST(Pickle, ReadsNumbersOfAllWidths) {
  using namespace std::string_view_literals;
  const Result<Pickle> pickle = read_text(
      "\x80\x02(K\xffM\xff\xffJ\xfe\xff\xff\xff\x8a\x00\x8a\x01\x80\x8a\x02\x80\x00\x8a\x09"
      "123456789t."sv);
  ASSERT_TRUE(pickle.has_value()) << pickle.error().message;
  std::vector<int64_t> numbers;
  for (const uint32_t item : pickle->at(pickle->root).items) numbers.push_back(pickle->at(item).number);
  EXPECT_THAT(numbers, testing::ElementsAre(255, 65535, -2, 0, -128, 128, 0));
  EXPECT_EQ(pickle->at(pickle->at(pickle->root).items.back()).kind, PickleNode::Kind::kOther);
}

TEST(Pickle, StopsAtItsEnd) {
  const Result<Pickle> pickle = read_text("\x80\x02K\x05.K");
  ASSERT_TRUE(pickle.has_value());
  EXPECT_EQ(pickle->size, 5U);
}

TEST(Pickle, OrderedDictsOfPythonTwo) {
  const Result<Pickle> pickle = read_text(
      "ccollections\nOrderedDict\n(]((U\x01"
      "aK\x01"
      "letR.");
  ASSERT_TRUE(pickle.has_value()) << pickle.error().message;
  const PickleNode& dict = pickle->at(pickle->root);
  EXPECT_EQ(dict.kind, PickleNode::Kind::kDict);
  ASSERT_EQ(dict.items.size(), 2U);
  EXPECT_EQ(pickle->at(dict.items[0]).text, "a");
}

TEST(Pickle, NamesOutsideTheListAreErrors) {
  EXPECT_THAT(pickle_error("cos\nsystem\n."), HasSubstr("p: pickle: it wants 'os.system'"));
  EXPECT_THAT(pickle_error("\x8c\x08"
                           "builtins\x8c\x04"
                           "eval\x93."),
              HasSubstr("'builtins.eval'"));
  EXPECT_THAT(pickle_error("ctorch Size\n\n."), HasSubstr("it wants 'torch Size.'"));
  EXPECT_THAT(pickle_error("cos\x1b[31m\n\x07\n."), HasSubstr("'os?[31m.?'"));
}

TEST(Pickle, WhatTensorsDoNotNeedIsRefused) {
  EXPECT_THAT(pickle_error("I5\n."), HasSubstr("instruction 0x49 at byte 0"));
  EXPECT_THAT(pickle_error("(ios\nsystem\n."), HasSubstr("instruction 0x69 at byte 1"));
  EXPECT_THAT(pickle_error("K\x01)R."), HasSubstr("a call of something that is no name"));
}

TEST(Pickle, BrokenStacksAreErrors) {
  EXPECT_THAT(pickle_error("."), HasSubstr("the stack is empty at byte 0"));
  EXPECT_THAT(pickle_error("(."), HasSubstr("the stack is empty"));
  EXPECT_THAT(pickle_error("t."), HasSubstr("no mark on the stack"));
  EXPECT_THAT(pickle_error("h\x07."), HasSubstr("nothing was kept as 7"));
  EXPECT_THAT(pickle_error("}(K\x01u."), HasSubstr("a key without a value"));
  EXPECT_THAT(pickle_error("K\x01K\x02"
                           "a."),
              HasSubstr("items for something that takes none"));
  EXPECT_THAT(pickle_error("X\xff\xff\xff\x7fx."), HasSubstr("truncated?"));
}

// A list may hold itself, and little text may say much; tests/fuzz holds both to the memory that their bytes are worth.
TEST(Pickle, ListsAreNotCopiedAgainAndAgain) {
  EXPECT_TRUE(read_text("]q\x01h\x01"
                        "a.")
                  .has_value());
  std::string text = "](";
  for (int i = 0; i < 10'000; ++i) text += "))\x86";
  text +=
      "eq\x01"
      "ccollections\nOrderedDict\nq\x02";
  for (int i = 0; i < 10'000; ++i) text += "h\x02h\x01\x85R0";
  EXPECT_THAT(pickle_error(text + "."), HasSubstr("a list that was used before"));
}

}  // namespace
}  // namespace inlay
