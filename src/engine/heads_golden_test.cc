// Every family with its heads against what transformers and sentence-transformers made of the same folder.
#include "engine/engine_testing.h"
#include "engine/rerank.h"

namespace inlay {
namespace {

// Relative to the largest number of a list; wrong eps, activations or positions move them by 1e-4 and more.
constexpr float kTolerance = 1e-5F;
constexpr std::array<const char*, 15> kFamilies = {"heads-bert",       "heads-roberta", "heads-xlm-roberta", "heads-camembert",
                                                   "heads-distilbert", "heads-electra", "heads-albert",      "heads-mpnet",
                                                   "heads-modernbert", "heads-deberta", "heads-qwen3",       "heads-new",
                                                   "heads-gte",        "heads-nomic",   "heads-jina-bert"};
// Those that have a masked language model too.
constexpr std::array<const char*, 9> kMaskedFamilies = {"heads-bert",      "heads-roberta",    "heads-xlm-roberta",
                                                        "heads-camembert", "heads-distilbert", "heads-electra",
                                                        "heads-albert",    "heads-mpnet",      "heads-modernbert"};

std::vector<float> floats_of(const Json& item, std::string_view key) {
  std::vector<float> values;
  const std::optional<Json> list = item.find(key);
  if (!list) return values;
  for (const Json& value : must(list->items())) {
    if (value.is_array()) {
      for (const Json& inner : must(value.items())) values.push_back(static_cast<float>(must(inner.as_double())));
    } else {
      values.push_back(static_cast<float>(must(value.as_double())));
    }
  }
  return values;
}

std::vector<int32_t> ints_of(const Json& item, std::string_view key) {
  std::vector<int32_t> values;
  const std::optional<Json> list = item.find(key);
  if (!list) return values;
  for (const Json& value : must(list->items())) values.push_back(static_cast<int32_t>(must(value.as_int())));
  return values;
}

// An item of heads.json; tests/golden/README.md explains the fields.
struct HeadItem {
  std::string first;
  std::optional<std::string> second;
  std::vector<int32_t> ids;
  std::vector<float> logits, scores, hidden;
  SparseVector sparse, sparse_sum;  // the largest over tokens; the sum, with log1p twice
};

SparseVector sparse_of(const Json& item, std::string_view key) {
  SparseVector weights;
  const std::optional<Json> list = item.find(key);
  if (!list) return weights;
  for (const Json& pair : must(list->items())) {
    const std::vector<Json> parts = must(pair.items());
    weights.push_back({static_cast<int32_t>(must(parts[0].as_int())), static_cast<float>(must(parts[1].as_double()))});
  }
  return weights;
}

std::vector<HeadItem> read_items(std::string_view name) {
  const JsonDocument document = must(JsonDocument::read(golden_folder(name) / "heads.json", 1 << 24));
  std::vector<HeadItem> items;
  for (const Json& json : must(must(document.root().get("items")).items())) {
    HeadItem item;
    item.first = must(json.string_or("first", ""));
    if (json.find("second")) item.second = must(json.string_or("second", ""));
    item.ids = ints_of(json, "ids");
    item.logits = floats_of(json, "logits");
    item.scores = floats_of(json, "scores");
    item.hidden = floats_of(json, "hidden");
    item.sparse = sparse_of(json, "sparse");
    item.sparse_sum = sparse_of(json, "sparse_sum");
    items.push_back(std::move(item));
  }
  return items;
}

float largest(std::span<const float> values) {
  float most = 1;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

float distance(std::span<const float> found, std::span<const float> wanted) {
  if (found.size() != wanted.size()) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(found[i] - wanted[i]));
  return most / largest(wanted);
}

class HeadsGolden : public testing::TestWithParam<const Kernels*> {
 protected:
  Engine load(std::string_view name, Precision dtype, int threads = 1) {
    return must(Engine::load({.model = golden_model(name), .dtype = dtype, .threads = threads, .kernels = GetParam()}));
  }

  static TokenizedText tokenize(const Engine& engine, const HeadItem& item) {
    TokenizedText text =
        item.second ? must(engine.tokenize_pair(item.first, *item.second, {})) : must(engine.tokenize(item.first));
    text.outputs = {OutputKind::kScores, OutputKind::kTokens};
    return text;
  }

  static std::vector<TextOutput> run(const Engine& engine, std::span<const HeadItem> items) {
    std::vector<TokenizedText> texts;
    for (const HeadItem& item : items) texts.push_back(tokenize(engine, item));
    std::vector<TextOutput> outputs;
    for (Result<TextOutput>& output : engine.run(texts)) outputs.push_back(must(std::move(output)));
    return outputs;
  }
};

TEST_P(HeadsGolden, IdsLogitsScoresAndHiddenStatesEqualTheReference) {
  for (const char* name : kFamilies) {
    const Engine engine = load(name, Precision::kFloat32);
    const std::vector<HeadItem> items = read_items(name);
    const std::vector<TextOutput> outputs = run(engine, items);
    float worst_logit = 0, worst_hidden = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const HeadItem& item = items[i];
      EXPECT_EQ(tokenize(engine, item).ids, item.ids) << name << " item " << i;
      worst_logit = std::max(worst_logit, distance(outputs[i].scores, item.logits));
      if (!item.hidden.empty()) worst_hidden = std::max(worst_hidden, distance(outputs[i].tokens.values, item.hidden));
      if (item.scores.empty()) continue;
      std::vector<float> scores = outputs[i].scores;
      finish_scores(engine.spec(), ScoreForm::kModel, scores);
      EXPECT_LE(distance(scores, item.scores), kTolerance) << name << " item " << i;
    }
    EXPECT_LE(worst_logit, kTolerance) << name;
    EXPECT_LE(worst_hidden, kTolerance) << name;
    std::printf("%s: logits differ by %.1e, hidden states by %.1e\n", name, worst_logit, worst_hidden);
  }
}

// Positions counted from 0 give states of the right look and the wrong values.
TEST_P(HeadsGolden, CaseH10PositionsOfTheRobertaFamilyFollowThePaddingToken) {
  for (const char* name : {"heads-roberta", "heads-xlm-roberta", "heads-camembert"}) {
    const Engine engine = load(name, Precision::kFloat32);
    std::vector<HeadItem> items = read_items(name);
    std::erase_if(items, [](const HeadItem& item) { return item.hidden.empty(); });
    std::reverse(items.begin(), items.end());  // the long text first, the one that spells the padding token after it
    const std::vector<TextOutput> outputs = run(engine, items);
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_LE(distance(outputs[i].tokens.values, items[i].hidden), kTolerance) << name << ": " << items[i].first;
    }
    EXPECT_EQ(engine.max_length(), engine.spec().encoder.max_positions - 2);
  }
}

// The weights of these models are scaled up, so that they are far more sensitive than trained ones.
TEST_P(HeadsGolden, SmallerPrecisionsStayClose) {
  for (const char* name : kFamilies) {
    const std::vector<HeadItem> items = read_items(name);
    for (const auto& [dtype, least] : {std::pair(Precision::kBFloat16, 0.99), std::pair(Precision::kInt8, 0.97)}) {
      const std::vector<TextOutput> outputs = run(load(name, dtype), items);
      for (size_t i = 0; i < items.size(); ++i) {
        const std::vector<float>& hidden = outputs[i].tokens.values;
        if (items[i].hidden.empty()) continue;
        EXPECT_GE(cosine(hidden.data(), items[i].hidden.data(), static_cast<int>(hidden.size())), least)
            << name << " item " << i;
      }
    }
  }
}

TEST_P(HeadsGolden, OutputsHaveTheSameBitsAloneAndInABatch) {
  for (const char* name : kFamilies) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kInt8, Precision::kInt4}) {
      // The table in use gets the whole test, the others one precision.
      if (dtype != Precision::kFloat32 && GetParam() != &kernels()) continue;
      const Engine engine = load(name, dtype, 2);
      const std::vector<HeadItem> items = read_items(name);
      const std::vector<TextOutput> together = run(engine, items);
      for (size_t i = 0; i < items.size(); i += 3) {
        const TextOutput alone = run(engine, std::span(items).subspan(i, 1)).front();
        ASSERT_EQ(alone.scores, together[i].scores) << name << " item " << i;
        ASSERT_EQ(alone.tokens.values, together[i].tokens.values) << name << " item " << i;
      }
    }
  }
}

// A language model that says yes or no, with the prompt of Qwen3's rerankers around a pair.
TEST_P(HeadsGolden, JudgingModelsEqualTheReference) {
  const Engine engine = must(Engine::load({.model = golden_model("heads-judge"),
                                           .dtype = Precision::kFloat32,
                                           .threads = 2,
                                           .max_length = 330,
                                           .kernels = GetParam()}));
  float worst = 0;
  for (const HeadItem& item : read_items("heads-judge")) {
    TokenizedText text = must(engine.tokenize_pair(item.first, item.second.value_or(""), {}));
    EXPECT_EQ(text.ids, item.ids);
    const std::vector<float> logits = must(std::move(engine.run({&text, 1}).front())).scores;
    worst = std::max(worst, distance(logits, item.logits));
    const std::vector<std::string> document = {item.second.value_or("")};
    const std::vector<Result<float>> scores = must(rerank(engine, item.first, document, ScoreForm::kModel));
    EXPECT_NEAR(must(scores.front()), item.scores.front(), kTolerance);
  }
  EXPECT_LE(worst, kTolerance);
  std::printf("heads-judge: logits differ by %.1e\n", worst);
}

// The largest difference of two sparse vectors; a weight that is missing counts as 0.
float distance(const SparseVector& found, const SparseVector& wanted) {
  std::map<int32_t, float> differences;
  float most = 1;
  for (const SparseWeight& weight : wanted) {
    differences[weight.id] -= weight.weight;
    most = std::max(most, weight.weight);
  }
  for (const SparseWeight& weight : found) differences[weight.id] += weight.weight;
  float worst = 0;
  for (const auto& [id, difference] : differences) worst = std::max(worst, std::abs(difference));
  return worst / most;
}

// The same folder as a masked language model with SpladePooling.
Engine load_splade(const TestFolder& folder, std::string_view name, std::string_view pooling, const EngineOptions& options) {
  link_model(folder, name, {"modules.json"});
  folder.write("modules.json", R"([{"path":"","type":"sentence_transformers.sparse_encoder.models.MLMTransformer"},
      {"path":"1_SpladePooling","type":"sentence_transformers.sparse_encoder.models.SpladePooling"}])");
  folder.write("1_SpladePooling/config.json", pooling);
  EngineOptions wanted = options;
  wanted.model = folder.path();
  return must(Engine::load(wanted));
}

class SpladeGolden : public HeadsGolden {
 protected:
  static std::vector<SparseVector> run_sparse(const Engine& engine, std::span<const HeadItem> items) {
    std::vector<TokenizedText> texts;
    for (const HeadItem& item : items) {
      texts.push_back(must(engine.tokenize(item.first)));
      texts.back().outputs = {OutputKind::kSparse};
    }
    std::vector<SparseVector> vectors;
    for (Result<TextOutput>& output : engine.run(texts)) vectors.push_back(must(std::move(output)).sparse);
    return vectors;
  }

  static std::vector<HeadItem> single_texts(std::string_view name) {
    std::vector<HeadItem> items = read_items(name);
    std::erase_if(items, [](const HeadItem& item) { return item.second.has_value(); });
    return items;
  }
};

TEST_P(SpladeGolden, WeightsEqualSentenceTransformers) {
  for (const char* name : kMaskedFamilies) {
    const std::vector<HeadItem> items = single_texts(name);
    const TestFolder folder, other;
    const EngineOptions options = {.dtype = Precision::kFloat32, .threads = 2, .kernels = GetParam()};
    const Engine largest = load_splade(folder, name, R"({"pooling_strategy":"max","activation_function":"relu"})", options);
    const Engine sum = load_splade(other, name, R"({"pooling_strategy":"sum","activation_function":"log1p_relu"})", options);
    EXPECT_TRUE(largest.outputs() == (OutputSet{OutputKind::kSparse, OutputKind::kTokens}));
    const std::vector<SparseVector> found = run_sparse(largest, items);
    const std::vector<SparseVector> found_sum = run_sparse(sum, items);
    float worst = 0, worst_sum = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      worst = std::max(worst, distance(found[i], items[i].sparse));
      worst_sum = std::max(worst_sum, distance(found_sum[i], items[i].sparse_sum));
    }
    EXPECT_LE(worst, kTolerance) << name;
    EXPECT_LE(worst_sum, kTolerance) << name;
    std::printf("%s: SPLADE differs by %.1e, sums by %.1e\n", name, worst, worst_sum);
  }
}

TEST_P(SpladeGolden, WeightsHaveTheSameBitsAloneAndInABatchAndWithATeam) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kInt8, Precision::kInt4}) {
    const TestFolder folder, other;
    const char* pooling = R"({"pooling_strategy":"max"})";
    const Engine engine = load_splade(folder, "heads-bert", pooling, {.dtype = dtype, .threads = 1, .kernels = GetParam()});
    const Engine team = load_splade(other, "heads-bert", pooling, {.dtype = dtype, .threads = 3, .kernels = GetParam()});
    const std::vector<HeadItem> items = single_texts("heads-bert");
    const std::vector<SparseVector> together = run_sparse(engine, items);
    for (size_t i = 0; i < items.size(); ++i) {
      for (const Engine* one : {&engine, &team}) {
        const SparseVector alone = run_sparse(*one, std::span(items).subspan(i, 1)).front();
        ASSERT_EQ(alone.size(), together[i].size());
        for (size_t w = 0; w < alone.size(); ++w) {
          ASSERT_EQ(alone[w].id, together[i][w].id);
          ASSERT_EQ(alone[w].weight, together[i][w].weight);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTable, SpladeGolden, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);
INSTANTIATE_TEST_SUITE_P(EveryTable, HeadsGolden, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);

}  // namespace
}  // namespace inlay
