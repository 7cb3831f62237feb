// Cases from public bug reports, on the small vocabulary of tests/data. With INLAY_TEST_MODEL, a folder with the 30,522-word
// uncased BERT vocabulary (all-MiniLM-L6-v2), the exact ids of the reports are checked as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "tokenizer/small_tokenizer.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::string repeated(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

std::string framed(std::string_view first, std::string_view next, int count) {
  return fmt::format("[CLS] {}{} [SEP]", first, repeated(next, count));
}

// The end token, which last-token pooling reads, is the padding token of Qwen's embedding models, and is put there by the
// template.
TEST(TokenizerCases, CaseH15TheEndTokenIsThereAndSurvivesACut) {
  const Tokenizer tokenizer = Tokenizer::load("tests/data/tokenizers/qwen").value();
  const int32_t end = tokenizer.token_to_id("<|endoftext|>").value();
  for (const std::string_view text : {"test", "", "a b", "x<|endoftext|>"}) {
    EXPECT_EQ(tokenizer.encode(text, {})->ids.back(), end) << text;
  }
  EXPECT_EQ(tokenizer.encode(repeated("test ", 50), {.max_length = 7})->ids.back(), end);
  EXPECT_EQ(tokenizer.encode(repeated("test ", 50), {.max_length = 7, .truncation = TruncationSide::kLeft})->ids.back(), end);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(TokenizerCases, CaseH01AccentsGoAndLettersStay) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokens_of(tokenizer, "Kantō lǜshi"), "[CLS] kant ##o lush ##i [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "naïve café"), "[CLS] naive cafe [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "nai\u0308ve cafe\u0301"), "[CLS] naive cafe [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "Hokkaidō Hokkaido"), "[CLS] hokkaido hokkaido [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "ệ ẹ\u0301"), "[CLS] e e [SEP]");
}

TEST(TokenizerCases, CaseH02EveryFlagIsObeyed) {
  struct Row {
    const char* lowercase;
    const char* strip_accents;
    const char* expected;
  };
  const Row rows[] = {
      {"true", "null", "[CLS] schon muller grosse [UNK] cafe [SEP]"},
      {"true", "true", "[CLS] schon muller grosse [UNK] cafe [SEP]"},
      {"true", "false", "[CLS] schön müller grosse größe café [SEP]"},
      {"false", "null", "[CLS] schön [UNK] [UNK] größe café [SEP]"},
      {"false", "false", "[CLS] schön [UNK] [UNK] größe café [SEP]"},
      {"false", "true", "[CLS] schon [UNK] [UNK] [UNK] cafe [SEP]"},
  };
  for (const Row& row : rows) {
    const Tokenizer tokenizer = small({.normalizer = bert_normalizer(row.lowercase, row.strip_accents)});
    EXPECT_EQ(tokens_of(tokenizer, "schön Müller Grosse größe café"), row.expected)
        << row.lowercase << " " << row.strip_accents;
  }
}

TEST(TokenizerCases, CaseH03ALongWordIsOneUnknownToken) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokens_of(tokenizer, repeated("a", 100)), framed("a", " ##a", 99));
  EXPECT_EQ(tokens_of(tokenizer, repeated("a", 101)), "[CLS] [UNK] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, repeated("ß", 100)), framed("ß", " ##ß", 99));
  EXPECT_EQ(tokens_of(tokenizer, repeated("ß", 101)), "[CLS] [UNK] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, repeated("x", 101) + " dog"), "[CLS] [UNK] dog [SEP]");
  // Only what is left after normalization counts.
  EXPECT_EQ(tokens_of(tokenizer, repeated("a\u0301", 100)), framed("a", " ##a", 99));
}

TEST(TokenizerCases, CaseH04NothingIsDroppedOrKeptWrongly) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokens_of(tokenizer, "$5 + £8 = 30°C ©"), "[CLS] $ 5 + [UNK] = 30 ##° ##c © [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "hel\u200Blo \uFEFFhello"), "[CLS] hello hello [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "\u00AD"), "[CLS] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "hello\u0085world"), "[CLS] hello ##world [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "a\u00A0b\u3000c\u2028d"), "[CLS] a b c d [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "💩 💩"), "[CLS] [UNK] [UNK] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "💩💩💩"), "[CLS] [UNK] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "hello💩"), "[CLS] [UNK] [SEP]");
}

TEST(TokenizerCases, CaseH05LowerCaseFirstIsAPreStep) {
  const SmallTokenizer uncased;
  EXPECT_EQ(tokens_of(uncased.load({}, false).value(), "HELLO WORLD"), "[CLS] hello world [SEP]");
  const SmallTokenizer cased{.normalizer = bert_normalizer("false", "null")};
  EXPECT_EQ(tokens_of(cased.load({}, false).value(), "HELLO WORLD"), "[CLS] HELLO WORLD [SEP]");
  EXPECT_EQ(tokens_of(cased.load({}, true).value(), "HELLO WORLD"), "[CLS] hello world [SEP]");
  EXPECT_EQ(tokens_of(cased.load({}, true).value(), "SCHÖN Café"), "[CLS] schön café [SEP]");
  // Special tokens are sought before the text is lower-cased.
  EXPECT_EQ(tokens_of(cased.load({}, true).value(), "HELLO [SEP]"), "[CLS] hello [SEP] [SEP]");
}

TEST(TokenizerCases, CaseH06SpecialTokensInTheText) {
  const Tokenizer tokenizer = small();
  EXPECT_EQ(tokens_of(tokenizer, "hello [SEP] world [MASK]"), "[CLS] hello [SEP] world [MASK] [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "hello [sep] world"), "[CLS] hello [ sep ] world [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "foo[SEP]bar"), "[CLS] foo [SEP] bar [SEP]");
  const EncodeOptions plain{.add_special_tokens = false, .escape_special_tokens = true};
  EXPECT_EQ(tokens_of(tokenizer, "hello [SEP] world", plain), "hello [ sep ] world");
  const Result<Encoding> encoding = tokenizer.encode("[CLS][SEP][MASK][PAD] hello", plain);
  for (const int32_t id : encoding->ids) EXPECT_TRUE(id == 1 || !tokenizer.is_special(id)) << id;
}

TEST(TokenizerCases, CaseH09TheLimitHoldsAndSpecialTokensAreKept) {
  const Tokenizer tokenizer = small();
  const std::string text = repeated("hello ", 900);
  for (const TruncationSide side : {TruncationSide::kRight, TruncationSide::kLeft}) {
    for (const int limit : {-1, 0, 1}) {
      const Result<Encoding> encoding = tokenizer.encode(text, {.max_length = limit, .truncation = side});
      ASSERT_FALSE(encoding.has_value());
      EXPECT_EQ(encoding.error().code, ErrorCode::kInvalidArgument);
    }
    EXPECT_EQ(tokens_of(tokenizer, text, {.max_length = 2, .truncation = side}), "[CLS] [SEP]");
    EXPECT_EQ(tokens_of(tokenizer, text, {.max_length = 3, .truncation = side}), "[CLS] hello [SEP]");
    EXPECT_TRUE(tokenizer.encode(text, {.max_length = 2, .truncation = side})->truncated);
    EXPECT_FALSE(tokenizer.encode(text, {.max_length = 902, .truncation = side})->truncated);
    const Encoding one_less = tokenizer.encode(text, {.max_length = 901, .truncation = side}).value();
    EXPECT_TRUE(one_less.truncated);
    EXPECT_EQ(one_less.ids.size(), 901U);
    EXPECT_EQ(one_less.ids.back(), tokenizer.token_to_id("[SEP]"));
  }
  EXPECT_FALSE(tokenizer.encode("", {.max_length = 0, .add_special_tokens = false}).has_value());
  EXPECT_FALSE(tokenizer.encode_pair("a", "b", {.max_length = 2}).has_value());
  EXPECT_EQ(tokens_of(tokenizer, tokenizer.encode_pair("a", "b", {.max_length = 3})), "[CLS] [SEP] [SEP]");
}

TEST(TokenizerCases, CaseH19TruncationAndPaddingOfTheFileAreIgnored) {
  const Tokenizer tokenizer =
      small({.more = R"(,"truncation":{"max_length":4,"strategy":"LongestFirst","stride":0},"padding":)"
                     R"({"strategy":{"Fixed":8},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,)"
                     R"("pad_type_id":0,"pad_token":"[PAD]"})"});
  EXPECT_EQ(tokens_of(tokenizer, "hello world hello world"), "[CLS] hello world hello world [SEP]");
  EXPECT_EQ(tokens_of(tokenizer, "hello"), "[CLS] hello [SEP]");
}

TEST(TokenizerCases, CaseH42ThreadsDoNotShareSettings) {
  const Tokenizer tokenizer = small();
  const std::string text = repeated("hello naïve world ", 70);
  const EncodeOptions short_one{.max_length = 16};
  const EncodeOptions long_one{.max_length = 4096, .truncation = TruncationSide::kLeft};
  const std::vector<int32_t> short_ids = tokenizer.encode(text, short_one)->ids;
  const std::vector<int32_t> long_ids = tokenizer.encode(text, long_one)->ids;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 16; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const bool is_short = (i + thread) % 2 == 0;
        const Result<Encoding> encoding = tokenizer.encode(text, is_short ? short_one : long_one);
        if (!encoding || encoding->ids != (is_short ? short_ids : long_ids)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TokenizerCases, CaseH45LongRunsCostNoMoreThanTheirLength) {
  const Tokenizer fused = small();
  const Tokenizer general = small({.normalizer = R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"Lowercase"}]})"});
  const EncodeOptions options{.max_length = 1 << 30};
  const std::string runs[] = {repeated("-", 32768),
                              repeated("_", 50000),
                              repeated("a", 200000),
                              repeated("日", 100000),
                              repeated("a\u0301", 1).append(repeated("\u0301", 100000)),
                              repeated("\u07FD\u0323\u0301", 30000),
                              repeated("\xFF", 100000),
                              repeated("[SEP", 50000),
                              repeated("[SEP]", 50000)};
  for (const std::string& run : runs) {
    for (const Tokenizer* tokenizer : {&fused, &general}) {
      const double start = cpu_seconds();
      EXPECT_TRUE(tokenizer->encode(run, options).has_value());
      // A quadratic step would need seconds; a sanitizer may cost a factor of ten.
      EXPECT_LT(cpu_seconds() - start, 1.0) << run.substr(0, 8) << " x " << run.size();
    }
  }
}

TEST(TokenizerCases, WorkEndsWithTheLimit) {
  const Tokenizer fused = small();
  const Tokenizer general = small({.normalizer = R"({"type":"Lowercase"})"});
  for (const std::string_view word : {"hello world ", "日本語", "[SEP] hello "}) {
    const std::string text = repeated(word, (64 << 20) / static_cast<int>(word.size()));
    for (const Tokenizer* tokenizer : {&fused, &general}) {
      if (tokenizer == &general && word.find(' ') == std::string_view::npos) continue;  // has no place to cut at
      const double start = cpu_seconds();
      const Result<Encoding> encoding = tokenizer->encode(text, {.max_length = 512});
      const double seconds = cpu_seconds() - start;
      EXPECT_TRUE(encoding->truncated);
      EXPECT_EQ(encoding->ids.size(), 512U);
      EXPECT_LT(seconds, 0.02);  // the whole text takes more than half a second
    }
  }
}

// "text" and the ids that the reports give.
struct RealCase {
  std::string text;
  std::vector<int32_t> ids;
};

TEST(TokenizerCases, ExactIdsOfTheReports) {
  const char* const folder = std::getenv("INLAY_TEST_MODEL");
  if (folder == nullptr) GTEST_SKIP() << "INLAY_TEST_MODEL names no model folder";
  const Tokenizer tokenizer = Tokenizer::load(folder).value();
  std::vector<int32_t> long_sharp_s(102, 19310);
  long_sharp_s.front() = 101;
  long_sharp_s[1] = 1096;
  long_sharp_s.back() = 102;
  const RealCase cases[] = {
      {"Kantō lǜshi", {101, 26044, 2080, 16299, 2072, 102}},
      {"naïve café", {101, 15743, 7668, 102}},
      {"nai\u0308ve cafe\u0301", {101, 15743, 7668, 102}},
      {"Hokkaidō", {101, 20826, 102}},
      {repeated("a", 101), {101, 100, 102}},
      {repeated("ß", 100), long_sharp_s},
      {repeated("x", 101) + " dog", {101, 100, 3899, 102}},
      {"$5 + £8 = 30°C ©", {101, 1002, 1019, 1009, 1069, 2620, 1027, 2382, 7737, 2278, 1075, 102}},
      {"hel\u200Blo", {101, 7592, 102}},
      {"hello\u0085world", {101, 7592, 11108, 102}},
      {"a\u00A0b\u3000c\u2028d", {101, 1037, 1038, 1039, 1040, 102}},
      {"💩 💩", {101, 100, 100, 102}},
      {"HELLO WORLD", {101, 7592, 2088, 102}},
      {"hello [SEP] world [MASK]", {101, 7592, 102, 2088, 103, 102}},
      {"hello [sep] world", {101, 7592, 1031, 19802, 1033, 2088, 102}},
  };
  for (const RealCase& real : cases) EXPECT_THAT(tokenizer.encode(real.text, {})->ids, ElementsAreArray(real.ids)) << real.text;
  EXPECT_EQ(tokenizer.encode(repeated("a", 100), {})->ids.size(), 52U);
  EXPECT_EQ(tokenizer.encode(repeated("hello ", 300), {.max_length = 256})->ids.size(), 256U);
  EXPECT_EQ(tokenizer.vocab_size(), 30522);
  EXPECT_EQ(tokenizer.model_max_length(), 512);
}

}  // namespace
}  // namespace inlay
