#include "tokenizer/unigram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace inlay {
namespace {

using testing::ElementsAre;

std::vector<int32_t> ids_of(const Unigram& model, std::string_view piece) {
  ModelScratch scratch;
  IdSink sink(SIZE_MAX / 4, IdSink::Keep::kHead);
  model.tokenize(piece, scratch, sink);
  return sink.take();
}

Unigram make(const std::vector<Unigram::Entry>& entries, bool byte_fallback = false) {
  return Unigram::build(entries, {.unknown_id = 0, .byte_fallback = byte_fallback}).value();
}

// The expected values were measured with tokenizers 0.23.3.
TEST(Unigram, OfEqualScoresTheLongerLastTokenWins) {
  EXPECT_THAT(ids_of(make({{"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -2}}), "ab"), ElementsAre(3));
}

TEST(Unigram, FusesUnknownCharacters) {
  const Unigram model = make({{"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -2}});
  EXPECT_THAT(ids_of(model, "xyab"), ElementsAre(0, 3));
  EXPECT_THAT(ids_of(model, "xéa日本"), ElementsAre(0, 1, 0));
}

TEST(Unigram, BytesStandForUnknownTextWhereAllAreThere) {
  const Unigram model = make({{"<unk>", 0}, {"a", -1}, {"<0x78>", -5}, {"<0x79>", -5}}, true);
  EXPECT_THAT(ids_of(model, "xya"), ElementsAre(2, 3, 1));
  EXPECT_THAT(ids_of(model, "xqa"), ElementsAre(0, 1));
}

TEST(Unigram, OfEqualTokensTheLastCounts) {
  EXPECT_THAT(ids_of(make({{"<unk>", 0}, {"a", -1}, {"b", -1}, {"ab", -2}, {"ab", -9}}), "ab"), ElementsAre(1, 2));
}

TEST(Unigram, RefusesWhatCannotWork) {
  EXPECT_FALSE(Unigram::build({}, {.unknown_id = 0}).has_value());
  EXPECT_FALSE(Unigram::build({{"a", 0}}, {.unknown_id = 1}).has_value());
  EXPECT_FALSE(Unigram::build({{"a", 0}}, {.unknown_id = -1}).has_value());
  EXPECT_FALSE(Unigram::build({{"a", std::numeric_limits<double>::quiet_NaN()}}, {.unknown_id = 0}).has_value());
}

// All cuts of a short text, tried one by one.
double best_score(std::string_view text, const std::vector<Unigram::Entry>& entries) {
  std::vector<double> best(text.size() + 1, -std::numeric_limits<double>::infinity());
  best[0] = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    for (const auto& [token, score] : entries) {
      if (text.substr(0, end).ends_with(token)) best[end] = std::max(best[end], best[end - token.size()] + score);
    }
  }
  return best[text.size()];
}

TEST(Unigram, FindsTheBestScoreOfRandomTexts) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> letter('a', 'c');
  std::uniform_real_distribution<double> score(-9, -1);
  std::vector<std::string> tokens;
  for (int i = 0; i < 40; ++i) {
    std::string token;
    for (int size = 1 + i % 5; size > 0; --size) token += static_cast<char>(letter(random));
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
  }
  for (const char* single : {"a", "b", "c"}) {
    if (std::find(tokens.begin(), tokens.end(), single) == tokens.end()) tokens.emplace_back(single);
  }
  std::vector<Unigram::Entry> entries{{"<unk>", -20}};
  for (const std::string& token : tokens) entries.emplace_back(token, score(random));
  const Unigram model = make(entries);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int size = 1 + round; size > 0; --size) text += static_cast<char>(letter(random));
    double sum = 0;
    std::string joined;
    for (const int32_t id : ids_of(model, text)) {
      sum += entries[static_cast<size_t>(id)].second;
      joined += entries[static_cast<size_t>(id)].first;
    }
    ASSERT_EQ(joined, text);
    ASSERT_NEAR(sum, best_score(text, {entries.begin() + 1, entries.end()}), 1e-9) << text;
  }
}

TEST(Unigram, StopsOnceTheSinkIsFull) {
  const Unigram model = make({{"<unk>", 0}, {"a", -1}, {"aa", -1.5}});
  ModelScratch scratch;
  IdSink sink(3, IdSink::Keep::kHead);
  model.tokenize(std::string(1 << 20, 'b') + "c", scratch, sink);
  EXPECT_THAT(sink.take(), ElementsAre(0));
  EXPECT_LT(scratch.nodes.capacity(), 64U);
}

}  // namespace
}  // namespace inlay
