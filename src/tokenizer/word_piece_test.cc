#include "tokenizer/word_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

using testing::ElementsAre;

WordPiece model(const std::vector<std::string_view>& tokens, const WordPieceOptions& options = {}) {
  std::vector<Vocabulary::Entry> entries;
  for (const std::string_view token : tokens) entries.emplace_back(token, static_cast<int32_t>(entries.size()));
  return WordPiece::build(Vocabulary::build(std::move(entries)).value(), options).value();
}

std::vector<int32_t> ids(const WordPiece& word_piece, std::string_view word) {
  ModelScratch scratch;
  IdSink sink(1000, IdSink::Keep::kHead);
  word_piece.tokenize(word, scratch, sink);
  return sink.take();
}

TEST(WordPiece, TakesTheLongestPieceEachTime) {
  const WordPiece word_piece = model({"[UNK]", "un", "unaff", "##aff", "##able", "##ab", "a"});
  EXPECT_THAT(ids(word_piece, "unaffable"), ElementsAre(2, 4));
  EXPECT_THAT(ids(word_piece, "unable"), ElementsAre(1, 4));
  EXPECT_THAT(ids(word_piece, "a"), ElementsAre(6));
}

TEST(WordPiece, AnUnknownRestMakesTheWholeWordUnknown) {
  const WordPiece word_piece = model({"[UNK]", "un", "##able"});
  EXPECT_THAT(ids(word_piece, "unablex"), ElementsAre(0));
  EXPECT_THAT(ids(word_piece, "x"), ElementsAre(0));
}

// Greedy, so a word that other pieces could make is unknown all the same.
TEST(WordPiece, DoesNotGoBack) { EXPECT_THAT(ids(model({"[UNK]", "ab", "a", "##bc"}), "abc"), ElementsAre(0)); }

TEST(WordPiece, PrefixAloneIsNoPiece) {
  const WordPiece word_piece = model({"[UNK]", "a", "##", ""});
  EXPECT_THAT(ids(word_piece, "ab"), ElementsAre(0));
  EXPECT_THAT(ids(word_piece, "##"), ElementsAre(2));
}

TEST(WordPiece, WithoutPrefixesInTheVocabulary) {
  EXPECT_THAT(ids(model({"[UNK]", "a"}), "aa"), ElementsAre(0));
  EXPECT_THAT(ids(model({"[UNK]", "a"}, {.continuing_prefix = ""}), "aa"), ElementsAre(1, 1));
}

TEST(WordPiece, CaseH03CountsCharactersNotBytes) {
  const WordPiece word_piece = model({"[UNK]", "ß", "##ß"}, {.max_chars = 3});
  EXPECT_THAT(ids(word_piece, "ßßß"), ElementsAre(1, 2, 2));
  EXPECT_THAT(ids(word_piece, "ßßßß"), ElementsAre(0));
}

TEST(WordPiece, RefusesAVocabularyWithoutTheUnknownToken) {
  const Result<WordPiece> result = WordPiece::build(Vocabulary::build({{"a", 0}}).value(), {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
}

TEST(Vocabulary, OfEqualTokensTheLastCounts) {
  const Vocabulary vocabulary = Vocabulary::build({{"a", 5}, {"b", 1}, {"a", 3}}).value();
  EXPECT_EQ(vocabulary.id_of("a"), 3);
  EXPECT_EQ(vocabulary.token_of(3), "a");
  EXPECT_EQ(vocabulary.token_of(5), std::nullopt);
  EXPECT_EQ(vocabulary.size(), 2U);
  EXPECT_EQ(vocabulary.id_limit(), 4);
}

TEST(IdSink, KeepsHeadOrTail) {
  IdSink head(2, IdSink::Keep::kHead);
  IdSink tail(2, IdSink::Keep::kTail);
  for (int32_t id = 1; id <= 2; ++id) {
    head.push(id);
    tail.push(id);
  }
  EXPECT_FALSE(head.has_dropped() || tail.has_dropped() || head.is_full());
  for (int32_t id = 3; id <= 9; ++id) {
    head.push(id);
    tail.push(id);
  }
  EXPECT_TRUE(head.has_dropped() && tail.has_dropped() && head.is_full() && !tail.is_full());
  EXPECT_EQ(tail.count(), 9U);
  EXPECT_THAT(head.take(), ElementsAre(1, 2));
  EXPECT_THAT(tail.take(), ElementsAre(8, 9));
}

}  // namespace
}  // namespace inlay
