#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tokenizer/bert_encoder.h"
#include "tokenizer/general_encoder.h"
#include "tokenizer/small_tokenizer.h"
#include "tokenizer/text_steps.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Tokenizer, EmptyTextIsTheTemplateAlone) {
  EXPECT_EQ(tokens_of(small(), ""), "[CLS] [SEP]");
  EXPECT_EQ(tokens_of(small(), " \t\n"), "[CLS] [SEP]");
  EXPECT_EQ(tokens_of(small(), "", {.add_special_tokens = false}), "");
}

TEST(Tokenizer, NullStepsLoad) {
  const Tokenizer tokenizer = small({.normalizer = "null", .pre_tokenizer = "null", .post_processor = "null"});
  EXPECT_EQ(tokens_of(tokenizer, "foo"), "foo");
  EXPECT_EQ(tokens_of(tokenizer, "foo foo"), "[UNK]");
  EXPECT_EQ(tokenizer.special_tokens(), 0);
}

TEST(Tokenizer, TruncatesOnTheSideAskedFor) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokens_of(tokenizer, "a b c d", {.max_length = 4}), "[CLS] a b [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "a b c d", {.max_length = 4, .truncation = TruncationSide::kLeft}), "[CLS] c d [SEP]");
  const Result<Encoding> refused = tokenizer.encode("a b c d", {.max_length = 5, .truncation = TruncationSide::kNone});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(tokens_of(tokenizer, "a b c d", {.max_length = 6, .truncation = TruncationSide::kNone}), "[CLS] a b c d [SEP]");
}

TEST(Tokenizer, PairsCarryTypes) {
  const Tokenizer tokenizer = small();
  const Encoding pair = tokenizer.encode_pair("foo", "bar a", {}).value();
  EXPECT_EQ(tokens_of(tokenizer, Result<Encoding>(pair)), "[CLS] foo [SEP] bar a [SEP]");
  EXPECT_THAT(pair.type_ids, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(tokenizer.encode("foo", {})->type_ids, IsEmpty());
  EXPECT_EQ(tokenizer.special_tokens(true), 3);
}

// Lengths measured with tokenizers 0.23.3: texts of 7 and 3 tokens, 3 special tokens.
TEST(Tokenizer, PairsLoseTheLongerTextFirst) {
  const Tokenizer tokenizer = small();
  const std::pair<int, std::pair<int, int>> rows[] = {{5, {1, 1}}, {6, {2, 1}},  {7, {2, 2}}, {8, {3, 2}},
                                                      {9, {3, 3}}, {12, {6, 3}}, {13, {7, 3}}};
  for (const auto& [max_length, lengths] : rows) {
    const Encoding pair = tokenizer.encode_pair("a a a a a a a", "b b b", {.max_length = max_length}).value();
    EXPECT_EQ(std::count(pair.ids.begin(), pair.ids.end(), *tokenizer.token_to_id("a")), lengths.first) << max_length;
    EXPECT_EQ(std::count(pair.ids.begin(), pair.ids.end(), *tokenizer.token_to_id("b")), lengths.second) << max_length;
    EXPECT_EQ(pair.truncated, max_length < 13);
  }
  // Of two texts that are both too long the longer one keeps the odd token; of equally long ones, the second.
  EXPECT_EQ(tokens_of(tokenizer, tokenizer.encode_pair("a a a a a a", "b b b b b", {.max_length = 6})),
            "[CLS] a a [SEP] b [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, tokenizer.encode_pair("a a a a a", "b b b b b", {.max_length = 6})),
            "[CLS] a [SEP] b b [SEP]");
}

TEST(Tokenizer, RobertaTemplate) {
  const Tokenizer tokenizer = small(
      {.post_processor =
           R"({"type":"RobertaProcessing","sep":["[SEP]",3],"cls":["[CLS]",2],"trim_offsets":true,"add_prefix_space":true})"});
  const Encoding pair = tokenizer.encode_pair("foo", "bar", {}).value();
  EXPECT_EQ(tokens_of(tokenizer, Result<Encoding>(pair)), "[CLS] foo [SEP] [SEP] bar [SEP]");
  EXPECT_THAT(pair.type_ids, IsEmpty());
}

TEST(Tokenizer, TemplateMayPutSeveralIdsAndAnyTypes) {
  const Tokenizer tokenizer =
      small({.post_processor = R"({"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing",
      "single":[{"SpecialToken":{"id":"x","type_id":0}},{"Sequence":{"id":"A","type_id":3}}],
      "pair":[{"Sequence":{"id":"B","type_id":0}},{"SpecialToken":{"id":"x","type_id":1}},{"Sequence":{"id":"A","type_id":2}}],
      "special_tokens":{"x":{"id":"x","ids":[2,4],"tokens":["[CLS]","[MASK]"]}}}]})"});
  const Encoding single = tokenizer.encode("foo", {}).value();
  EXPECT_EQ(tokens_of(tokenizer, Result<Encoding>(single)), "[CLS] [MASK] foo");
  EXPECT_THAT(single.type_ids, ElementsAre(0, 0, 3));
  EXPECT_EQ(tokens_of(tokenizer, tokenizer.encode_pair("foo", "bar", {})), "bar [CLS] [MASK] foo");
  EXPECT_EQ(tokenizer.special_tokens(), 2);
}

TEST(Tokenizer, AddedTokensOfTheNormalizedText) {
  const Tokenizer tokenizer =
      small({.more_added_tokens = R"(,{"id":500,"content":"Café Bar","single_word":false,"lstrip":false,)"
                                  R"("rstrip":false,"normalized":true,"special":false})"});
  // It is not in the vocabulary, so it takes the next free id, whatever the file says.
  EXPECT_EQ(tokens_of(tokenizer, "foo CAFE BAR foo"), "[CLS] foo Café Bar foo [SEP]");
  EXPECT_EQ(tokenizer.vocab_size(), *tokenizer.token_to_id("Café Bar") + 1);
  EXPECT_NE(tokenizer.token_to_id("Café Bar"), 500);
}

// As transformers' add_special_tokens makes them. They are found in the text as it is, inside of words too.
TEST(Tokenizer, TokensOfTheVocabularyMayBeMadeSpecial) {
  const TestFolder folder;
  folder.write("tokenizer.json", SmallTokenizer{.more_added_tokens = R"(,{"id":500,"content":"Café Bar","single_word":false,)"
                                                                     R"("lstrip":false,"rstrip":false,"normalized":true,)"
                                                                     R"("special":false})"}
                                     .json());
  const Tokenizer plain = Tokenizer::load(folder.path()).value();
  EXPECT_EQ(tokens_of(plain, "dogx CAFE BAR Café Bar"), "[CLS] dog ##x Café Bar Café Bar [SEP]");
  const std::vector<std::string> names = {"dog", "Café Bar", "nothing of the vocabulary"};
  const Tokenizer special = Tokenizer::load(folder.path(), false, names).value();
  EXPECT_EQ(tokens_of(special, "dogx CAFE BAR Café Bar"), "[CLS] dog x cafe bar Café Bar [SEP]");
  EXPECT_EQ(special.token_to_id("Café Bar"), plain.token_to_id("Café Bar"));
  EXPECT_TRUE(special.is_special(*special.token_to_id("dog")));
  EXPECT_EQ(special.vocab_size(), plain.vocab_size());
}

// "begin-end" for each token, "." where there is none.
std::string offsets_text(std::string_view folder, std::string_view text, std::optional<std::string_view> second = {}) {
  const Tokenizer tokenizer = Tokenizer::load(std::filesystem::path("tests/data/tokenizers") / folder).value();
  const Encoding encoding = (second ? tokenizer.encode_pair(text, *second, {}) : tokenizer.encode(text, {})).value();
  std::string result;
  for (const std::optional<Offsets>& each : tokenizer.offsets(encoding, text, second, {})) {
    if (!result.empty()) result += ' ';
    result += each ? fmt::format("{}-{}", each->begin, each->end) : ".";
  }
  return result;
}

// Measured with tokenizers 0.23.3; tests/tokenizer/test_offsets.py compares on many more.
TEST(Tokenizer, OffsetsAreThoseOfTheReferenceInCharacters) {
  EXPECT_EQ(offsets_text("roberta", " Grüße,  <mask>x 😀"),
            ". 1-2 2-3 3-4 4-5 4-5 5-6 6-7 9-15 15-16 17-17 17-18 17-18 17-18 17-18 .");
  EXPECT_EQ(offsets_text("xlmr", "ﬁn ①  e\u0301 日"), ". 0-1 0-1 0-2 3-4 3-4 6-7 6-7 9-10 9-10 .");
  EXPECT_EQ(offsets_text("qwen", "e\u0301 n\u0303o 3,1"), "0-1 2-4 3-4 5-6 6-7 7-8 8-9 9-10 .");
}

TEST(Tokenizer, OffsetsOfAPairCountInEachTextAndThoseOfAnotherTextAreNotKnown) {
  EXPECT_EQ(offsets_text("qwen", "3", "1,2"), "0-1 0-1 1-2 2-3 .");
  const Tokenizer tokenizer = small();
  const Encoding encoding = tokenizer.encode("foo", {}).value();
  for (const std::optional<Offsets>& each : tokenizer.offsets(encoding, "a b", std::nullopt, {})) EXPECT_FALSE(each);
}

TEST(Tokenizer, IllFormedTextIsReadAsReplacementCharacters) {
  const Tokenizer uncased = small();
  EXPECT_EQ(tokens_of(uncased, "hel\xFFlo"), "[CLS] hello [SEP]");
  const Tokenizer unclean = small({.normalizer = R"({"type":"Lowercase"})"});
  EXPECT_EQ(tokens_of(unclean, "hello \xE4\xB8 world"), "[CLS] hello [UNK] world [SEP]");
}

TEST(Tokenizer, TellsItsTokens) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokenizer.kind(), "WordPiece");
  EXPECT_EQ(tokenizer.id_to_token(3), "[SEP]");
  EXPECT_EQ(tokenizer.id_to_token(6), "##a");
  EXPECT_EQ(tokenizer.id_to_token(100000), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(-1), std::nullopt);
  EXPECT_EQ(tokenizer.token_to_id("nonesuch"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(3));
  EXPECT_FALSE(tokenizer.is_special(6));
}

std::vector<int32_t> encoded(const ChunkEncoder& encoder, std::string_view text) {
  EncodeState state;
  IdSink sink(100000, IdSink::Keep::kHead);
  encoder.encode(text, state, sink);
  return sink.take();
}

uint32_t below(std::mt19937& random, size_t limit) { return static_cast<uint32_t>(random() % limit); }

std::string random_text(std::mt19937& random) {
  constexpr uint32_t kRanges[][2] = {{0x20, 0x7F},     {0xA0, 0x250},    {0x300, 0x370},   {0x2000, 0x2070},
                                     {0x3040, 0x3100}, {0x4E00, 0x4E10}, {0xAC00, 0xAC80}, {0x7F0, 0x800},
                                     {0xA8C0, 0xA8D0}, {0xF900, 0xF920}, {0, 0xD800},      {0xE000, 0x30000}};
  std::string text;
  for (uint32_t i = below(random, 40); i > 0; --i) {
    const uint32_t* const range = kRanges[below(random, std::size(kRanges))];
    append_utf8(text, range[0] + below(random, range[1] - range[0]));
    if (random() % 8 == 0) text += ' ';
    if (random() % 64 == 0) text += static_cast<char>(random());
  }
  return text;
}

// A vocabulary that shows every difference: all characters of the random texts' ranges that a word may hold.
WordPiece telling_model() {
  std::vector<std::string> tokens = {"[UNK]"};
  for (uint32_t code = 0; code < 0x11000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string character;
    append_utf8(character, code);
    tokens.push_back(character);
    tokens.push_back("##" + character);
  }
  std::vector<Vocabulary::Entry> entries;
  for (const std::string& token : tokens) entries.emplace_back(token, static_cast<int32_t>(entries.size()));
  return WordPiece::build(Vocabulary::build(std::move(entries)).value(), {}).value();
}

TEST(BertEncoder, EqualsTheStepsOneByOne) {
  const WordPiece model = telling_model();
  constexpr uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  for (int flags = 0; flags < 32; ++flags) {
    const BertOptions options{.clean_text = (flags & 1) != 0,
                              .handle_chinese_chars = (flags & 2) != 0,
                              .strip_accents = (flags & 4) != 0,
                              .lowercase = (flags & 8) != 0,
                              .lowercase_first = (flags & 16) != 0};
    TextSteps bert = bert_text_steps(options);
    const GeneralEncoder::Steps steps{std::move(bert.normalizers), {}, std::move(bert.pre_tokenizers)};
    const GeneralEncoder general(steps, model);
    const BertEncoder fused(options, model);
    for (int i = 0; i < 250; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(encoded(fused, text), encoded(general, text)) << "seed " << kSeed << ", flags " << flags << ": " << text;
    }
  }
}

TEST(BertEncoder, CutsWhereTheIdsDoNotSeeIt) {
  const WordPiece model = telling_model();
  const BertEncoder encoder({}, model);
  constexpr uint32_t kSeed = 8;
  std::mt19937 random(kSeed);
  for (int i = 0; i < 1500; ++i) {
    const std::string text = random_text(random);
    const std::vector<int32_t> whole = encoded(encoder, text);
    for (size_t from = 0; from < text.size(); from += 1 + random() % 8) {
      const size_t cut = encoder.find_cut(text, from);
      ASSERT_GT(cut, from);
      std::vector<int32_t> parts = encoded(encoder, text.substr(0, cut));
      for (const int32_t id : encoded(encoder, text.substr(cut))) parts.push_back(id);
      ASSERT_EQ(parts, whole) << "seed " << kSeed << ", cut at " << cut << ": " << text;
    }
  }
}

}  // namespace
}  // namespace inlay
