// Queries that are filled up with mask tokens: ColBERT's own folders and sentence-transformers', against the latter's vectors.
#include "engine/engine_testing.h"
#include "engine/input_type.h"
#include "engine/rerank.h"

namespace inlay {
namespace {

constexpr float kLateTolerance = 1e-5F;

std::vector<float> rows_of(const Json& item, std::string_view key) {
  std::vector<float> values;
  for (const Json& row : must(must(item.get(key)).items())) {
    for (const Json& value : must(row.items())) values.push_back(static_cast<float>(must(value.as_double())));
  }
  return values;
}

float difference(std::span<const float> found, std::span<const float> wanted) {
  if (found.size() != wanted.size()) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(found[i] - wanted[i]));
  return most;
}

// A text on its side, as input_type says it.
TokenizedText take(const Engine& engine, std::string_view text, std::string_view type) {
  TextOptions options;
  options.prompt = must(prompt_for_input_type(type, engine.spec().prompts));
  options.is_query = is_query_type(type);
  TokenizedText result = must(engine.tokenize(text, options));
  result.outputs = {OutputKind::kTokens};
  return result;
}

TokenVectors vectors_of(const Engine& engine, std::string_view text, std::string_view type) {
  const TokenizedText taken = take(engine, text, type);
  return must(std::move(engine.run({&taken, 1}).front())).tokens;
}

struct LateItem {
  std::string text;
  std::vector<float> document, query, query_attended;  // those of queries are empty for some
  double score = 0;                                    // of the document for the first query
};

std::vector<LateItem> late_items(std::string_view name) {
  const JsonDocument golden = must(JsonDocument::read(golden_folder(name) / "heads.json", 1 << 24));
  std::vector<LateItem> items;
  for (const Json& json : must(must(golden.root().get("items")).items())) {
    LateItem item = {must(json.string_or("first", "")), rows_of(json, "document"), {}, {}, must(json.double_or("score", 0))};
    if (json.find("query")) item.query = rows_of(json, "query");
    if (json.find("query_attended")) item.query_attended = rows_of(json, "query_attended");
    items.push_back(std::move(item));
  }
  return items;
}

class LateInteraction : public testing::TestWithParam<const Kernels*> {
 protected:
  Engine load(const std::filesystem::path& model, Precision dtype = Precision::kFloat32, int threads = 2) const {
    return must(Engine::load({.model = model, .dtype = dtype, .threads = threads, .kernels = GetParam()}));
  }

  static void expect_vectors(const Engine& engine, std::span<const LateItem> items, std::vector<float> LateItem::*query) {
    float worst = 0;
    for (const LateItem& item : items) {
      worst = std::max(worst, difference(vectors_of(engine, item.text, "document").values, item.document));
      if (!(item.*query).empty())
        worst = std::max(worst, difference(vectors_of(engine, item.text, "query").values, item.*query));
    }
    EXPECT_LE(worst, kLateTolerance);
    std::printf("late interaction: vectors differ by %.1e\n", worst);
  }

  static void expect_scores(const Engine& engine, std::span<const LateItem> items) {
    std::vector<std::string> texts;
    for (const LateItem& item : items) texts.push_back(item.text);
    const std::vector<Result<float>> scores = must(rerank(engine, texts[0], texts, ScoreForm::kModel));
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_NEAR(must(scores[i]), items[i].score, 1e-4) << texts[i];
  }
};

TEST_P(LateInteraction, ColbertsOwnFolderEqualsSentenceTransformers) {
  const Engine engine = load(golden_model("heads-stanford"));
  const std::vector<LateItem> items = late_items("heads-stanford");
  expect_vectors(engine, items, &LateItem::query);
  expect_scores(engine, items);
}

TEST_P(LateInteraction, MaskTokensMayBeAttendedTo) {
  const TestFolder folder;
  link_model(folder, "heads-stanford", {"artifact.metadata"});
  std::string metadata = must(read_file(golden_model("heads-stanford") / "artifact.metadata", 1 << 16));
  const std::string_view off = R"("attend_to_mask_tokens": false)";
  ASSERT_NE(metadata.find(off), std::string::npos);
  metadata.replace(metadata.find(off), off.size(), R"("attend_to_mask_tokens": true)");
  folder.write("artifact.metadata", metadata);
  expect_vectors(load(folder.path()), late_items("heads-stanford"), &LateItem::query_attended);
}

// Longer queries stay whole, another token fills, skipped words are left out of queries too, and scores are means.
TEST_P(LateInteraction, WhatSentenceTransformersSavedEqualsIt) {
  const Engine engine = load(golden_model("heads-filled"));
  const std::vector<LateItem> items = late_items("heads-filled");
  expect_vectors(engine, items, &LateItem::query);
  expect_scores(engine, items);
}

TEST_P(LateInteraction, TextsWithoutATypeAreDocuments) {
  const Engine engine = load(golden_model("heads-stanford"));
  EXPECT_EQ(must(engine.tokenize("a boat")).ids, take(engine, "a boat", "document").ids);
}

// Queries are filled up whatever else runs with them, in every precision.
TEST_P(LateInteraction, QueriesHaveTheSameBitsAloneAndInABatchAndWithATeam) {
  const std::vector<LateItem> items = late_items("heads-stanford");
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kInt8, Precision::kInt4}) {
    const Engine engine = load(golden_model("heads-stanford"), dtype, 1);
    const Engine team = load(golden_model("heads-stanford"), dtype, 3);
    std::vector<TokenizedText> texts;
    for (const LateItem& item : items) {
      for (const char* type : {"query", "document"}) texts.push_back(take(engine, item.text, type));
    }
    const std::vector<Result<TextOutput>> together = engine.run(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<float>& wanted = together[i]->tokens.values;
      for (const Engine* one : {&engine, &team}) {
        EXPECT_EQ(must(std::move(one->run({&texts[i], 1}).front())).tokens.values, wanted)
            << precision_name(dtype) << ", " << i;
      }
    }
  }
}

// What fills a query up is not seen, so that the others have the bits that they have without it; nor is it pooled.
TEST_P(LateInteraction, TokensThatFillUpChangeNoOthers) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kInt8}) {
    const Engine engine = must(Engine::load({.model = golden_model("heads-stanford"),
                                             .dtype = dtype,
                                             .threads = 2,
                                             .pooling = Pooling::kMean,
                                             .kernels = GetParam()}));
    TokenizedText filled = take(engine, "the boat", "query");
    filled.outputs = {OutputKind::kTokens, OutputKind::kVector};
    ASSERT_EQ(filled.ids.size(), 19U);
    TokenizedText plain = filled;
    plain.ids.resize(static_cast<size_t>(std::exchange(plain.seen_tokens, 0)));
    ASSERT_LT(plain.ids.size(), filled.ids.size());
    const TextOutput all = must(std::move(engine.run({&filled, 1}).front()));
    const TextOutput some = must(std::move(engine.run({&plain, 1}).front()));
    EXPECT_EQ(all.vector, some.vector);
    ASSERT_LT(some.tokens.values.size(), all.tokens.values.size());
    EXPECT_TRUE(std::equal(some.tokens.values.begin(), some.tokens.values.end(), all.tokens.values.begin()));
  }
}

TEST(LateInteractionOptions, WhatQueriesAreMadeOfIsNoLimitOfTheCaller) {
  const Engine engine = must(Engine::load({.model = golden_model("heads-stanford"), .threads = 1}));
  const TextOptions options = {.prompt = "", .max_length = 5, .truncate_side = {}, .is_query = true};
  EXPECT_EQ(must(engine.tokenize("the boat and the cat sat on the mat", options)).ids.size(), 19U);
  const Result<Engine> shorter = Engine::load({.model = golden_model("heads-stanford"), .threads = 1, .max_length = 18});
  ASSERT_FALSE(shorter.has_value());
  EXPECT_EQ(shorter.error().message, "max_length is 18, but queries are filled up to 19 tokens");
}

TEST(LateInteractionOptions, MarkersAreNoPlainText) {
  const Result<Engine> engine =
      Engine::load({.model = golden_model("heads-stanford"), .threads = 1, .escape_special_tokens = true});
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().message,
            "special tokens are to be plain text, but the model's prompts are made of them: [unused0], [unused1]");
}

TEST(LateInteractionOptions, ATokenThatFillsHasToBeThere) {
  const TestFolder folder;
  link_model(folder, "heads-stanford", {"tokenizer_config.json"});
  folder.write("tokenizer_config.json", R"({"mask_token": "<none>"})");
  const Result<Engine> engine = Engine::load({.model = folder.path(), .threads = 1});
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().message, "the vocabulary has no token to fill queries up with; looked for: <none>");
}

INSTANTIATE_TEST_SUITE_P(EveryTable, LateInteraction, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);

}  // namespace
}  // namespace inlay
