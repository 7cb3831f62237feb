// Folders as people have them, and as nobody should: each hostile file is a clear error, never a crash.
#include "tokenizer/tokenizer_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/small_tokenizer.h"

namespace inlay {
namespace {

using testing::HasSubstr;

Tokenizer load(const TestFolder& folder) {
  Result<Tokenizer> tokenizer = Tokenizer::load(folder.path());
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  return *std::move(tokenizer);
}

TEST(TokenizerFiles, VocabTextMakesAnUncasedBert) {
  const TestFolder folder;
  folder.write("vocab.txt", small_vocab_text());
  folder.write("tokenizer_config.json", R"({"tokenizer_class":"BertTokenizer","model_max_length":512})");
  const Tokenizer tokenizer = load(folder);
  EXPECT_EQ(tokens_of(tokenizer, "Café [SEP] FOObar 日本 [sep]"), "[CLS] cafe [SEP] foo ##bar 日 本 [ sep ] [SEP]");
  const Encoding pair = tokenizer.encode_pair("a", "b", {}).value();
  EXPECT_THAT(pair.type_ids, testing::ElementsAre(0, 0, 0, 1, 1));
  EXPECT_EQ(tokenizer.model_max_length(), 512);
}

TEST(TokenizerFiles, VocabTextFollowsTheConfig) {
  const TestFolder folder;
  folder.write("vocab.txt", "[PAD]\r\n[UNK] \n<cls>\n[SEP]\n\nCafé\ncafe\n日本\n##本");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class":"BertTokenizer","do_lower_case":false,"tokenize_chinese_chars":false,
      "cls_token":"<cls>","model_max_length":1000000000000000019884624838656})");
  const Tokenizer tokenizer = load(folder);
  EXPECT_EQ(tokens_of(tokenizer, "Café 日本本"), "<cls> Café 日本 ##本 [SEP]");
  EXPECT_EQ(tokenizer.token_to_id("cafe"), 6);  // an empty line counts
  EXPECT_EQ(tokenizer.model_max_length(), std::nullopt);
  // [MASK] is special by default; the vocabulary lacks it, so it takes the next id.
  EXPECT_EQ(tokenizer.token_to_id("[MASK]"), 9);
}

TEST(TokenizerFiles, MpnetVocabTextHasTwoSeparators) {
  const TestFolder folder;
  folder.write("vocab.txt", "<s>\n<pad>\n</s>\n<unk>\nhello\n[UNK]\n<mask>\n");
  folder.write("config.json", R"({"model_type":"mpnet"})");
  const Tokenizer tokenizer = load(folder);
  EXPECT_EQ(tokens_of(tokenizer, tokenizer.encode_pair("hello", "hello  <mask>", {})), "<s> hello </s> </s> hello <mask> </s>");
}

// What transformers does for BERT classes: its own keys, or their defaults, go before the flags of tokenizer.json.
TEST(TokenizerFiles, TokenizerConfigOverridesABertNormalizer) {
  const SmallTokenizer uncased;
  const SmallTokenizer cased{.normalizer = bert_normalizer("false", "null")};
  const std::string_view text = "SCHÖN schön 日本";
  EXPECT_EQ(tokens_of(cased.load().value(), text), "[CLS] [UNK] schön 日 本 [SEP]");
  EXPECT_EQ(tokens_of(cased.load(R"({"tokenizer_class":"BertTokenizer"})").value(), text), "[CLS] schon schon 日 本 [SEP]");
  EXPECT_EQ(tokens_of(cased.load(R"({"tokenizer_class":"BertTokenizerFast","do_lower_case":false})").value(), text),
            "[CLS] [UNK] schön 日 本 [SEP]");
  EXPECT_EQ(tokens_of(uncased.load(R"({"tokenizer_class":"BertTokenizer","do_lower_case":true,"strip_accents":false})").value(),
                      text),
            "[CLS] schön schön 日 本 [SEP]");
  EXPECT_EQ(tokens_of(uncased.load(R"({"tokenizer_class":"BertTokenizer","tokenize_chinese_chars":false})").value(), text),
            "[CLS] schon schon [UNK] [SEP]");
  // Other classes leave the file alone.
  EXPECT_EQ(tokens_of(cased.load(R"({"tokenizer_class":"PreTrainedTokenizerFast","do_lower_case":true})").value(), text),
            "[CLS] [UNK] schön 日 本 [SEP]");
}

TEST(TokenizerFiles, TokenizerConfigAddsTokens) {
  const SmallTokenizer tokenizer;
  const Tokenizer with_more = tokenizer
                                  .load(R"({"tokenizer_class":"PreTrainedTokenizerFast","added_tokens_decoder":{
      "70":{"content":"[NEW]","special":true},"4":{"content":"[MASK]","lstrip":true,"special":true}},"eos_token":"[EOS]"})")
                                  .value();
  EXPECT_EQ(tokens_of(with_more, "a [NEW] [EOS]  [MASK]b"), "[CLS] a [NEW] [EOS] [MASK] b [SEP]");
  EXPECT_TRUE(with_more.is_special(*with_more.token_to_id("[EOS]")));
}

TEST(TokenizerFiles, ModelTypeMayBeMissing) {
  std::string json = SmallTokenizer().json();
  const std::string type = R"("type":"WordPiece",)";
  json.erase(json.find(type), type.size());
  const TestFolder folder;
  folder.write("tokenizer.json", json);
  EXPECT_EQ(tokens_of(load(folder), "hello"), "[CLS] hello [SEP]");
}

TEST(TokenizerFiles, AMissingFolderIsNotFound) {
  const Result<Tokenizer> tokenizer = Tokenizer::load("/nonexistent/folder");
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kNotFound);
}

struct HostileCase {
  const char* find;     // in a good tokenizer.json
  std::string replace;  // with this
  ErrorCode code;
  const char* message;
};

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
}

TEST(TokenizerFiles, HostileFilesAreErrorsThatNameTheField) {
  constexpr const char* kBert = R"({"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]})";
  constexpr const char* kNormalizer =
      R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})";
  using enum ErrorCode;
  const HostileCase cases[] = {
      {"\"[PAD]\":0", "\"[PAD]\":-1", kCorrupt, "model.vocab"},
      {"\"[PAD]\":0", "\"[PAD]\":4294967296", kCorrupt, "model.vocab"},
      {"\"[PAD]\":0", "\"[PAD]\":\"0\"", kCorrupt, "model.vocab"},
      {"\"[PAD]\":0", "\"[PAD]\":1.5", kCorrupt, "model.vocab"},
      {"\"[UNK]\":1", "\"[unk]\":1", kCorrupt, "unknown token '[UNK]'"},
      {"\"vocab\":{", "\"vocab\":[{", kCorrupt, "tokenizer.json"},
      {"WordPiece", "Nonsense", kUnsupported, "model.type"},
      {"\"max_input_chars_per_word\":100", "\"max_input_chars_per_word\":-5", kCorrupt, "max_input_chars_per_word"},
      {"\"max_input_chars_per_word\":100", "\"max_input_chars_per_word\":\"x\"", kCorrupt, "max_input_chars_per_word"},
      {"\"version\":\"1.0\"", "\"version\":\"2.0\"", kUnsupported, "version"},
      {"\"version\":\"1.0\"", "\"version\":7", kCorrupt, "version"},
      {"\"content\":\"[PAD]\"", "\"content\":5", kCorrupt, "added_tokens[0].content"},
      {"\"id\":0,\"content\"", "\"id\":-7,\"content\"", kCorrupt, "added_tokens[0].id"},
      {"\"lstrip\":false", "\"lstrip\":\"no\"", kCorrupt, "added_tokens[0].lstrip"},
      {"\"added_tokens\":[", "\"added_tokens\":[3,", kCorrupt, "added_tokens[0]"},
      {kNormalizer, R"({"type":"Precompiledish"})", kUnsupported, "normalizer"},
      {kNormalizer, R"({"type":"BertNormalizer"})", kCorrupt, "normalizer.clean_text"},
      {kNormalizer, R"({"type":"Sequence","normalizers":[{"type":"Nope"}]})", kUnsupported, "normalizers[0]"},
      {kNormalizer, R"({"type":"Replace","pattern":{"Regex":" {2,}("},"content":" "})", kCorrupt, "pattern"},
      {kNormalizer, R"({"type":"Replace","pattern":{"String":""},"content":" "})", kUnsupported, "pattern"},
      {kNormalizer, "\"text\"", kCorrupt, "normalizer"},
      {kNormalizer, nested(100000), kCorrupt, "tokenizer.json"},
      {"BertPreTokenizer", "Nope", kUnsupported, "pre_tokenizer"},
      {kBert, R"({"type":"Nope"})", kUnsupported, "post_processor"},
      {kBert, R"({"type":"BertProcessing","sep":["[SEP]"],"cls":["[CLS]",2]})", kCorrupt, "post_processor.sep"},
      {kBert, R"({"type":"BertProcessing","sep":["[SEP]",-3],"cls":["[CLS]",2]})", kCorrupt, "post_processor.sep"},
      {kBert,
       R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[X]","type_id":0}}],"pair":[],"special_tokens":{}})",
       kCorrupt, "special token '[X]'"},
      {kBert, R"({"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{}})", kUnsupported,
       "post_processor.single"},
      {kBert, R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":-1}}],"pair":[],"special_tokens":{}})",
       kCorrupt, "type_id"},
      {kBert, R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"C","type_id":0}}],"pair":[],"special_tokens":{}})",
       kCorrupt, "wanted A or B"},
      {kBert,
       R"({"type":"Sequence","processors":[{"type":"BertProcessing","sep":["s",3],"cls":["c",2]},{"type":"BertProcessing","sep":["s",3],"cls":["c",2]}]})",
       kUnsupported, "post_processor"},
      {"}}", "}", kCorrupt, "tokenizer.json"},
  };
  for (const HostileCase& hostile : cases) {
    std::string json = SmallTokenizer().json();
    const size_t at = json.find(hostile.find);
    ASSERT_NE(at, std::string::npos) << hostile.find;
    json.replace(at, std::string_view(hostile.find).size(), hostile.replace);
    const TestFolder folder;
    folder.write("tokenizer.json", json);
    const Result<Tokenizer> tokenizer = Tokenizer::load(folder.path());
    ASSERT_FALSE(tokenizer.has_value()) << hostile.replace.substr(0, 80);
    EXPECT_EQ(static_cast<int>(tokenizer.error().code), static_cast<int>(hostile.code)) << tokenizer.error().message;
    EXPECT_THAT(tokenizer.error().message, HasSubstr(hostile.message)) << hostile.replace.substr(0, 80);
  }
}

// Every prefix of a good file, and a good file with any one byte changed, loads or is an error.
TEST(TokenizerFiles, DamagedFilesNeverCrash) {
  const std::string good = SmallTokenizer().json();
  const TestFolder folder;
  for (size_t i = 0; i < good.size(); i += 19) {
    folder.write("tokenizer.json", good.substr(0, i));
    EXPECT_FALSE(Tokenizer::load(folder.path()).has_value());
    std::string changed = good;
    changed[i] = "0-\"x}[,:"[i / 19 % 8];
    folder.write("tokenizer.json", changed);
    const Result<Tokenizer> tokenizer = Tokenizer::load(folder.path());
    if (tokenizer) {
      EXPECT_TRUE(tokenizer->encode("hello [SEP] naïve 日本", {.max_length = 64}).has_value());
    }
  }
}

TEST(TokenizerFiles, HostileConfigsAreErrors) {
  const SmallTokenizer tokenizer;
  for (const std::string_view config :
       {R"({"tokenizer_class":5})", R"({"tokenizer_class":"BertTokenizer","do_lower_case":"yes"})",
        R"({"added_tokens_decoder":{"x":{}}})", R"({"added_tokens_decoder":{"-1":{"content":"a"}}})",
        R"({"added_tokens_decoder":{"1":{}}})", R"({"cls_token":{"content":7}})", R"({"model_max_length":"long"})", R"([1)"}) {
    EXPECT_FALSE(tokenizer.load(config).has_value()) << config;
  }
}

}  // namespace
}  // namespace inlay
