#include "engine/engine.h"

#include <gmock/gmock.h>

#include "base/process.h"
#include "engine/engine_testing.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using testing::HasSubstr;

Engine load(std::string_view name, EngineOptions options = {}) {
  options.model = golden_model(name);
  if (options.dtype == Precision::kAuto) options.dtype = Precision::kFloat32;
  return must(Engine::load(options));
}

Error load_error(std::string_view name, EngineOptions options) {
  options.model = golden_model(name);
  const Result<Engine> engine = Engine::load(options);
  return engine ? Error{ErrorCode::kInternal, "no error"} : engine.error();
}

std::vector<float> vector_of(const Engine& engine, std::string_view text) {
  const TokenizedText tokens = must(engine.tokenize(text));
  return must(std::move(engine.embed({&tokens, 1}).front()));
}

TEST(PlanBatches, KeepsEveryTextOnceWithinTheBudget) {
  std::mt19937 random(7);
  std::vector<int> lengths(1000);
  for (int& length : lengths) length = 1 + static_cast<int>(random() % 300U);
  std::vector<bool> seen(lengths.size(), false);
  for (const std::vector<uint32_t>& batch : plan_batches(lengths, 256)) {
    int tokens = 0;
    for (const uint32_t index : batch) {
      EXPECT_FALSE(seen[index]);
      seen[index] = true;
      tokens += lengths[index];
    }
    EXPECT_TRUE(tokens <= 256 || batch.size() == 1) << tokens;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 1000);
  EXPECT_TRUE(plan_batches({}, 256).empty());
}

// Ids come from strangers: none may read outside a table, and the error names the id.
TEST(Engine, CaseH22IdsAreUsedAsGivenAndCheckedAgainstTheVocabulary) {
  const Engine engine = load("bert-tiny");
  const TokenizedText text = must(engine.tokenize("hello"));
  const std::vector<int64_t> ids(text.ids.begin(), text.ids.end());
  EXPECT_EQ(must(engine.from_ids(ids)).ids, text.ids);
  for (const int64_t id : {int64_t{-1}, int64_t{engine.spec().encoder.vocab_size}, int64_t{4294967294}, INT64_MAX, INT64_MIN}) {
    const Result<TokenizedText> refused = engine.from_ids(std::vector<int64_t>{1, id});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(id)));
  }
  EXPECT_EQ(engine.from_ids(std::vector<int64_t>(engine.max_length() + 1, 1)).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(engine.from_ids({}).error().code, ErrorCode::kInvalidArgument);
}

// A model whose tokenizer is missing, or is of a kind that is not read, still takes ids.
TEST(Engine, LoadedForIdsItNeedsNoTokenizer) {
  const Engine whole = load("bert-tiny");
  TestFolder folder;
  for (const char* name : {"config.json", "model.safetensors", "modules.json", "1_Pooling"}) {
    std::filesystem::create_symlink(std::filesystem::absolute(golden_model("bert-tiny") / name), folder.path() / name);
  }
  EngineOptions options = {.model = folder.path(), .dtype = Precision::kFloat32};
  ASSERT_FALSE(Engine::load(options).has_value());
  options.ids_only = true;
  const Engine engine = must(Engine::load(options));
  const std::vector<int64_t> ids = {2, 5, 7, 9, 3};
  const TokenizedText ours = must(engine.from_ids(ids)), theirs = must(whole.from_ids(ids));
  EXPECT_EQ(must(std::move(engine.embed({&ours, 1}).front())), must(std::move(whole.embed({&theirs, 1}).front())));
  EXPECT_EQ(engine.tokenize("cat").error().code, ErrorCode::kInvalidArgument);
  options.prompt = "find: ";
  const Result<Engine> refused = Engine::load(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("a prompt goes before texts"));
}

TEST(Engine, ATextThatCannotRunKeepsItsErrorAndHarmsNoOther) {
  const Engine engine = load("bert-tiny", {.threads = 2});
  std::vector<TokenizedText> texts = {
      must(engine.tokenize("cat")), {}, must(engine.tokenize("dog")), {{1 << 30}, {}, 0, false}};
  const std::vector<Result<std::vector<float>>> vectors = engine.embed(texts);
  EXPECT_EQ(*vectors[0], vector_of(engine, "cat"));
  EXPECT_EQ(*vectors[2], vector_of(engine, "dog"));
  EXPECT_THAT(vectors[1].error().message, HasSubstr("no tokens"));
  EXPECT_THAT(vectors[3].error().message, HasSubstr("1073741824"));
}

// Counts are of tokens that run: special tokens included, nothing that batching adds, after truncation.
TEST(Engine, CaseH27CountsDoNotDependOnTheBatch) {
  const Engine engine = load("bert-tiny");
  std::string longer;
  for (int i = 0; i < 300; ++i) longer += "cat ";
  const TokenizedText cut = must(engine.tokenize(longer));
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(static_cast<int>(cut.ids.size()), engine.max_length());
  const TokenizedText empty = must(engine.tokenize(""));
  EXPECT_EQ(empty.ids.size(), 2U);
  EXPECT_FALSE(empty.truncated);
}

// The golden tokenizer.json carries truncation and padding of 16; sentence-transformers uses max_seq_length.
TEST(Engine, CaseH19LimitsBakedIntoTokenizerJsonAreIgnored) {
  const Engine engine = load("bert-tiny");
  std::string first;
  for (int i = 0; i < 40; ++i) first += "cat ";
  EXPECT_GT(must(engine.tokenize(first)).ids.size(), 40U);
  EXPECT_EQ(must(engine.tokenize("cat")).ids.size(), 3U);
  EXPECT_NE(vector_of(engine, first + "river"), vector_of(engine, first + "boat"));
}

TEST(Engine, CaseH09LimitsBelowTheSpecialTokensAreRefused) {
  EXPECT_THAT(load_error("bert-tiny", {.max_length = 0}).message, HasSubstr("max_length is 0"));
  EXPECT_THAT(load_error("bert-tiny", {.max_length = 1}).message, HasSubstr("2 special tokens"));
  EXPECT_EQ(must(load("bert-tiny", {.max_length = 2}).tokenize("cat cat cat")).ids.size(), 2U);
  EXPECT_EQ(must(load("bert-tiny", {.max_length = 3}).tokenize("cat cat cat")).ids.size(), 3U);
  EXPECT_THAT(load_error("bert-tiny", {.max_length = 81}).message, HasSubstr("80 positions"));
}

TEST(Engine, RefusesWrongOptionsByName) {
  EXPECT_THAT(load_error("bert-tiny", {.prompt_name = "nonsense"}).message, HasSubstr("nonsense"));
  EXPECT_THAT(load_error("bert-tiny", {.prompt = "a", .prompt_name = "b"}).message, HasSubstr("not both"));
  EXPECT_THAT(load_error("bert-tiny", {.dimensions = 0}).message, HasSubstr("dimensions is 0"));
  EXPECT_THAT(load_error("bert-tiny", {.dimensions = 45}).message, HasSubstr("1 to 44"));
  EXPECT_THAT(load_error("bert-tiny", {.threads = -1}).message, HasSubstr("threads is -1"));
  EXPECT_EQ(load_error("no-such-model", {}).code, ErrorCode::kNotFound);
}

// include_prompt: false with a prompt that fills the whole text: [SEP] stays to be pooled.
TEST(Engine, APromptThatLeavesNothingStillGivesAFiniteVector) {
  TestFolder folder;
  GoldenRun run;
  run.pooling = {"mean"};
  run.include_prompt = false;
  write_run_modules(folder, "bert-tiny", run);
  const Engine engine =
      must(Engine::load({.model = folder.path(), .dtype = Precision::kFloat32, .max_length = 4, .prompt = "cat cat cat cat"}));
  EXPECT_EQ(vector_of(engine, "dog").size(), 44U);
}

// A folder like the golden one whose weight files can be changed.
void copy_model(std::string_view name, const TestFolder& folder) {
  std::filesystem::copy(golden_model(name), folder.path(), std::filesystem::copy_options::recursive);
}

// Overwrites the first number of a tensor in model.safetensors. Tensors fill the file from its header to its end.
void write_nan(const TestFolder& folder, std::string_view tensor) {
  const WeightStore weights = must(WeightStore::open(folder.path()));
  const std::byte* first = weights.find(tensor)->bytes.data();
  size_t before = 0;
  for (const std::string& name : weights.names()) {
    if (weights.find(name)->bytes.data() < first) before += weights.find(name)->bytes.size();
  }
  std::string bytes = must(read_file(folder.path() / "model.safetensors", 1 << 26));
  const float nan = std::nanf("");
  std::memcpy(bytes.data() + bytes.size() - weights.total_bytes() + before, &nan, sizeof(nan));
  std::filesystem::rename(folder.path() / "model.safetensors", folder.path() / "old");
  folder.write("model.safetensors", bytes);
}

// A weight that is NaN must end as an error that names the text, never as a vector.
TEST(Engine, ANonFiniteVectorIsAnError) {
  TestFolder folder;
  copy_model("bert-tiny", folder);
  write_nan(folder, "encoder.layer.2.output.LayerNorm.bias");
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kInt8}) {
    const Engine engine = must(Engine::load({.model = folder.path(), .dtype = dtype}));
    const TokenizedText text = must(engine.tokenize("cat"));
    const Result<std::vector<float>> vector = std::move(engine.embed({&text, 1}).front());
    ASSERT_FALSE(vector.has_value()) << precision_name(dtype);
    EXPECT_THAT(vector.error().message, HasSubstr("not finite"));
  }
}

// A template of tokenizer.json may name any type; the table of types has two rows.
TEST(Engine, TokenTypesThatTheModelLacksAreRefused) {
  const TestFolder folder;
  copy_model("bert-tiny", folder);
  std::string json = must(read_file(folder.path() / "tokenizer.json", 1 << 20));
  const std::string_view type = "\"type_id\"";
  for (size_t at = json.find(type); at != std::string::npos; at = json.find(type, at + 1)) {
    json.replace(json.find_first_of("01", at), 1, "2000000000");
  }
  folder.write("tokenizer.json", json);
  const Engine engine = must(Engine::load({.model = folder.path()}));
  const Result<TokenizedText> text = engine.tokenize("hello");
  ASSERT_FALSE(text.has_value());
  EXPECT_THAT(text.error().message, HasSubstr("token type 2000000000 is not in 0 to 1"));
}

TEST(Engine, CaseH28PoolingSchemasOldAndNewGiveTheSameVector) {
  TestFolder old_schema;
  copy_model("bert-tiny", old_schema);
  old_schema.write("1_Pooling/config.json", R"({"word_embedding_dimension":44,"pooling_mode_mean_tokens":true})");
  TestFolder new_schema;
  copy_model("bert-tiny", new_schema);
  new_schema.write("1_Pooling/config.json", R"({"embedding_dimension":44,"pooling_mode":"mean","include_prompt":true})");
  const Engine one = must(Engine::load({.model = old_schema.path(), .dtype = Precision::kFloat32}));
  const Engine other = must(Engine::load({.model = new_schema.path(), .dtype = Precision::kFloat32}));
  EXPECT_EQ(vector_of(one, "hello world"), vector_of(other, "hello world"));
  EXPECT_NE(vector_of(load("bert-tiny", {.pooling = Pooling::kCls}), "hello world"), vector_of(one, "hello world"));
}

// The pooled first and last tokens are the text's own ends, not special tokens spelt inside it.
TEST(Engine, CaseH06SpelledSpecialTokensDoNotMoveThePooledPosition) {
  const std::string text = "hello [SEP] world [CLS] cat";
  const Engine plain = load("bert-tiny", {.pooling = Pooling::kLastToken});
  const TokenizedText tokens = must(plain.tokenize(text));
  EXPECT_EQ(std::count(tokens.ids.begin(), tokens.ids.end(), tokens.ids.back()), 2);
  const Engine escaped = load("bert-tiny", {.escape_special_tokens = true});
  const TokenizedText as_text = must(escaped.tokenize(text));
  EXPECT_EQ(std::count(as_text.ids.begin(), as_text.ids.end(), tokens.ids.back()), 1);
}

// Memory follows the largest batch, not the number of requests or of shapes.
TEST(Engine, CaseH38MemoryDoesNotGrowWithRequests) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps freed memory";
#endif
  const Engine engine = load("bert-long", {.threads = 2});
  std::mt19937 random(38);
  const auto run = [&](int requests, unsigned most_texts, int longest) {
    for (int i = 0; i < requests; ++i) {
      const int count = 1 + static_cast<int>(random() % most_texts);
      for (const Result<std::vector<float>>& vector :
           engine.embed(random_texts(count, longest, engine.spec().encoder.vocab_size, random))) {
        ASSERT_TRUE(vector.has_value());
      }
    }
  };
  constexpr uint64_t kMib = uint64_t{1} << 20;
  run(20, 64, 512);
  const uint64_t plateau = process_memory().resident_anonymous;
  run(60, 64, 512);
  run(600, 16, 100);
  run(3000, 1, 8);
  EXPECT_LT(process_memory().resident_anonymous, plateau + 2 * kMib);
  const LaneMemory lanes = engine.memory().lanes;
  EXPECT_GT(lanes.touched, 0U);
  EXPECT_LE(lanes.touched, lanes.reserved);
}

}  // namespace
}  // namespace inlay
