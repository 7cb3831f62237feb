#include "tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "tokenizer/byte_alphabet.h"

namespace inlay {
namespace {

using testing::ElementsAre;

std::vector<int32_t> ids_of(const Bpe& model, std::string_view piece) {
  ModelScratch scratch;
  IdSink sink(SIZE_MAX / 4, IdSink::Keep::kHead);
  model.tokenize(piece, scratch, sink);
  return sink.take();
}

Result<Bpe> make(std::vector<Vocabulary::Entry> entries, const std::vector<Bpe::MergePair>& merges,
                 const BpeOptions& options = {}) {
  return Bpe::build(Vocabulary::build(std::move(entries)).value(), merges, options);
}

// The expected values were measured with tokenizers 0.23.3.
TEST(Bpe, AnUnknownTokenWaitsBehindBytes) {
  const Bpe model = make({{"<unk>", 0}, {"a", 1}, {"<0xC3>", 2}, {"<0xA9>", 3}}, {},
                         {.unknown_token = "<unk>", .fuse_unknown = true, .byte_fallback = true})
                        .value();
  EXPECT_THAT(ids_of(model, "zéa"), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(ids_of(model, "zza"), ElementsAre(0, 1));
  EXPECT_THAT(ids_of(model, "zé"), ElementsAre(2, 3, 0));
}

TEST(Bpe, DropsUnknownCharactersWithoutAnUnknownToken) {
  EXPECT_THAT(ids_of(make({{"a", 1}}, {}).value(), "zazb"), ElementsAre(1));
}

TEST(Bpe, MergesByRankThenFromTheLeft) {
  const Bpe model =
      make({{"a", 0}, {"b", 1}, {"c", 2}, {"bc", 3}, {"ab", 4}, {"aa", 5}}, {{"b", "c"}, {"a", "b"}, {"a", "a"}}).value();
  EXPECT_THAT(ids_of(model, "abc"), ElementsAre(0, 3));
  EXPECT_THAT(ids_of(model, "aaab"), ElementsAre(5, 4));
  EXPECT_THAT(ids_of(model, "aaa"), ElementsAre(5, 0));
}

TEST(Bpe, RefusesMergesOutsideTheVocabulary) {
  EXPECT_FALSE(make({{"a", 0}, {"b", 1}}, {{"a", "b"}}).has_value());
  EXPECT_FALSE(make({{"a", 0}, {"ab", 1}}, {{"a", "b"}}).has_value());
  EXPECT_FALSE(make({{"a", 0}}, {}, {.unknown_token = "<unk>"}).has_value());
  EXPECT_FALSE(make({{"a", 0}, {"b", 1}, {"ab", 2}}, {{"a", "b"}}, {.continuing_prefix = "###"}).has_value());
}

// A text of few characters is scanned, a longer one goes through a heap, and words may be cut apart before: all agree.
TEST(Bpe, LongPiecesFollowTheSameRules) {
  std::mt19937 random(11);
  const std::vector<Vocabulary::Entry> entries = {{"a", 0},  {"b", 1},   {"▁", 2},   {"ab", 3}, {"ba", 4},   {"▁a", 5},
                                                  {"bb", 6}, {"aba", 7}, {"▁ab", 8}, {"▁▁", 9}, {"abba", 10}};
  const std::vector<Bpe::MergePair> merges = {{"b", "a"},  {"a", "b"},  {"▁", "a"}, {"b", "b"},
                                              {"a", "ba"}, {"▁a", "b"}, {"▁", "▁"}, {"ab", "ba"}};
  const Bpe cut = make(entries, merges).value();
  // A merge of text and a mark behind it keeps the piece whole.
  std::vector<Vocabulary::Entry> more = entries;
  more.emplace_back("x", 11);
  more.emplace_back("x▁", 12);
  std::vector<Bpe::MergePair> more_merges = merges;
  more_merges.emplace_back("x", "▁");
  const Bpe whole = make(more, more_merges).value();
  const char* const parts[] = {"a", "b", "▁"};
  for (int round = 0; round < 400; ++round) {
    std::string text;
    for (int size = 1 + round; size > 0; --size) text += parts[random() % 3];
    ASSERT_EQ(ids_of(cut, text), ids_of(whole, text)) << text;
  }
}

TEST(Bpe, ReadsBytesAsTheirCharacters) {
  std::vector<Vocabulary::Entry> entries;
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.push_back(to_byte_chars(std::string(1, static_cast<char>(byte))));
  texts.push_back(to_byte_chars(" a"));
  texts.push_back(to_byte_chars("é"));
  texts.push_back(to_byte_chars(" aé"));
  texts.emplace_back("日");  // not of the alphabet: never found
  for (const std::string& text : texts) entries.emplace_back(text, static_cast<int32_t>(entries.size()));
  const std::vector<Bpe::MergePair> merges = {{texts[' '], texts['a']}, {texts[0xC3], texts[0xA9]}};
  for (const bool ignores : {false, true}) {
    Bpe by_chars = make(entries, merges, {.ignore_merges = ignores}).value();
    Bpe by_bytes = make(entries, merges, {.ignore_merges = ignores}).value();
    ASSERT_TRUE(by_bytes.read_bytes());
    for (const std::string_view text : {" a", " aé", "é a", "日", "a\n\t", "\x01\x7F"}) {
      EXPECT_EQ(ids_of(by_bytes, text), ids_of(by_chars, to_byte_chars(text))) << text;
    }
  }
}

// Case H45: equal characters without end.
TEST(Bpe, CaseH45WorkGrowsWithTheTextOnly) {
  const Bpe model = make({{"a", 0}, {"aa", 1}, {"aaaa", 2}}, {{"a", "a"}, {"aa", "aa"}}).value();
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  EXPECT_EQ(ids_of(model, std::string(400000, 'a')).size(), 100000U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));  // quadratic work would take minutes
}

}  // namespace
}  // namespace inlay
