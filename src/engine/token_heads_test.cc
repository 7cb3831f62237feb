// Vectors of tokens: late interaction against sentence-transformers, and bge-m3's three heads against loops over golden states.
#include <future>

#include "engine/engine_testing.h"
#include "engine/rerank.h"
#include "engine/scheduler.h"
#include "weights/test_safetensors.h"

namespace inlay {
namespace {

constexpr float kTolerance = 1e-5F;
constexpr unsigned kSeed = 20261201;

std::vector<float> matrix_of(const Json& item, std::string_view key) {
  std::vector<float> values;
  for (const Json& row : must(must(item.get(key)).items())) {
    for (const Json& value : must(row.items())) values.push_back(static_cast<float>(must(value.as_double())));
  }
  return values;
}

float distance(std::span<const float> found, std::span<const float> wanted) {
  if (found.size() != wanted.size()) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(found[i] - wanted[i]));
  return most;
}

TextOutput run_one(const Engine& engine, TokenizedText text, OutputSet outputs) {
  text.outputs = outputs;
  return must(std::move(engine.run({&text, 1}).front()));
}

// Query vectors times document vectors, the largest for each query vector, summed.
double late_score(std::span<const float> query, std::span<const float> document, int columns) {
  double sum = 0;
  for (size_t q = 0; q < query.size() / columns; ++q) {
    double best = -INFINITY;
    for (size_t d = 0; d < document.size() / columns; ++d) {
      double product = 0;
      for (int c = 0; c < columns; ++c) product += double{query[q * columns + c]} * document[d * columns + c];
      best = std::max(best, product);
    }
    sum += best;
  }
  return sum;
}

class TokenHeads : public testing::TestWithParam<const Kernels*> {
 protected:
  EngineOptions options(const std::filesystem::path& model) const {
    return {.model = model, .dtype = Precision::kFloat32, .threads = 2, .kernels = GetParam()};
  }
};

TEST_P(TokenHeads, ColbertEqualsSentenceTransformers) {
  const Engine engine = must(Engine::load(options(golden_model("heads-colbert"))));
  EXPECT_TRUE(engine.outputs() == OutputSet{OutputKind::kTokens});
  const JsonDocument golden = must(JsonDocument::read(golden_folder("heads-colbert") / "heads.json", 1 << 24));
  std::vector<std::string> texts;
  std::vector<std::vector<float>> documents;
  std::vector<float> query;
  float worst = 0;
  for (const Json& item : must(must(golden.root().get("items")).items())) {
    texts.push_back(must(item.string_or("first", "")));
    documents.push_back(matrix_of(item, "document"));
    const TextOutput document = run_one(engine, must(engine.tokenize(texts.back())), {OutputKind::kTokens});
    EXPECT_EQ(document.tokens.columns, 50);
    worst = std::max(worst, distance(document.tokens.values, documents.back()));
    const TextOptions as_query = {.prompt = "find: ", .max_length = {}, .truncate_side = {}, .is_query = true};
    const TextOutput asked = run_one(engine, must(engine.tokenize(texts.back(), as_query)), {OutputKind::kTokens});
    query = matrix_of(item, "query");
    worst = std::max(worst, distance(asked.tokens.values, query));
  }
  EXPECT_LE(worst, kTolerance);
  std::printf("ColBERT: vectors differ by %.1e\n", worst);
  const std::vector<Result<float>> scores = must(rerank(engine, texts.back(), texts, ScoreForm::kModel));
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_NEAR(must(scores[i]), late_score(query, documents[i], 50), 1e-4);
}

struct Head {
  std::vector<float> weight, bias;
};

Head random_head(const TestFolder& folder, std::string_view file, int rows, int columns) {
  std::mt19937 random(kSeed + static_cast<unsigned>(rows));
  std::normal_distribution<float> normal(0, 0.3F);
  Head head = {std::vector<float>(static_cast<size_t>(rows) * columns), std::vector<float>(rows)};
  for (float& value : head.weight) value = normal(random);
  for (float& value : head.bias) value = normal(random);
  const auto bytes = [](const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  SafetensorsBuilder builder;
  builder.add("weight", "F32", {rows, columns}, bytes(head.weight)).add("bias", "F32", {rows}, bytes(head.bias));
  folder.write(file, builder.file());
  return head;
}

// Rows of head.weight times `state`, plus head.bias, in double precision.
std::vector<double> times(const Head& head, std::span<const float> state) {
  std::vector<double> out;
  for (size_t row = 0; row < head.bias.size(); ++row) {
    double sum = head.bias[row];
    for (size_t c = 0; c < state.size(); ++c) sum += double{head.weight[row * state.size() + c]} * state[c];
    out.push_back(sum);
  }
  return out;
}

constexpr int kHidden = 44;  // of heads-xlm-roberta

struct BgeItem {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> hidden;  // [ids, kHidden]

  std::span<const float> state(size_t token) const { return std::span(hidden).subspan(token * kHidden, kHidden); }
};

std::vector<BgeItem> bge_items() {
  const JsonDocument golden = must(JsonDocument::read(golden_folder("heads-xlm-roberta") / "heads.json", 1 << 24));
  std::vector<BgeItem> items;
  for (const Json& json : must(must(golden.root().get("items")).items())) {
    if (!json.find("hidden")) continue;
    BgeItem item = {must(json.string_or("first", "")), {}, matrix_of(json, "hidden")};
    for (const Json& id : must(must(json.get("ids")).items())) item.ids.push_back(static_cast<int32_t>(must(id.as_int())));
    items.push_back(std::move(item));
  }
  return items;
}

// The largest positive weight of each word but the special tokens, which are the first four ids.
std::map<int32_t, double> expected_weights(const BgeItem& item, const Head& head) {
  std::map<int32_t, double> weights;
  for (size_t token = 0; token < item.ids.size(); ++token) {
    const double weight = times(head, item.state(token)).front();
    if (item.ids[token] > 3 && weight > 0) weights[item.ids[token]] = std::max(weights[item.ids[token]], weight);
  }
  return weights;
}

// Every token but the first, of unit length.
std::vector<float> expected_vectors(const BgeItem& item, const Head& head) {
  std::vector<float> vectors;
  for (size_t token = 1; token < item.ids.size(); ++token) {
    const std::vector<double> row = times(head, item.state(token));
    double squares = 0;
    for (const double value : row) squares += value * value;
    for (const double value : row) vectors.push_back(static_cast<float>(value / std::sqrt(squares)));
  }
  return vectors;
}

class BgeM3 : public TokenHeads {
 protected:
  BgeM3() {
    link_model(folder_, "heads-xlm-roberta", {"config.json"});
    std::string config = must(read_file(golden_model("heads-xlm-roberta") / "config.json", 1 << 20));
    const std::string class_name = "XLMRobertaForSequenceClassification";
    folder_.write("config.json", config.replace(config.find(class_name), class_name.size(), "XLMRobertaModel"));
    folder_.write("modules.json", R"([{"path":"","type":"sentence_transformers.models.Transformer"},
        {"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
        {"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
    folder_.write("1_Pooling/config.json", R"({"word_embedding_dimension":44,"pooling_mode_cls_token":true})");
    sparse_ = random_head(folder_, "sparse_linear.safetensors", 1, kHidden);
    colbert_ = random_head(folder_, "colbert_linear.safetensors", kHidden, kHidden);
  }

  static void expect_weights(const SparseVector& found, const std::map<int32_t, double>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    auto expected = wanted.begin();
    for (const SparseWeight& weight : found) {
      EXPECT_EQ(weight.id, expected->first);
      EXPECT_NEAR(weight.weight, expected->second, kTolerance * 4);
      ++expected;
    }
  }

  TestFolder folder_;
  Head sparse_, colbert_;
};

TEST_P(BgeM3, OneForwardPassGivesAllThree) {
  const Engine engine = must(Engine::load(options(folder_.path())));
  const OutputSet all = {OutputKind::kVector, OutputKind::kSparse, OutputKind::kTokens};
  EXPECT_TRUE(engine.outputs() == all);
  for (const BgeItem& item : bge_items()) {
    const TextOutput output = run_one(engine, must(engine.tokenize(item.text)), all);
    expect_weights(output.sparse, expected_weights(item, sparse_));
    EXPECT_EQ(output.tokens.ids.size() + 1, item.ids.size());
    EXPECT_LE(distance(output.tokens.values, expected_vectors(item, colbert_)), kTolerance);
    EXPECT_GT(cosine(output.vector.data(), item.state(0).data(), kHidden), 0.999999);
  }
}

TEST_P(BgeM3, TheSchedulerGivesTheSameBits) {
  const Engine engine = must(Engine::load(options(folder_.path())));
  Scheduler scheduler(engine, {});
  WorkRequest request;
  const std::vector<OutputSet> kinds = {{OutputKind::kVector},
                                        {OutputKind::kSparse},
                                        {OutputKind::kTokens},
                                        {OutputKind::kVector, OutputKind::kSparse, OutputKind::kTokens},
                                        {OutputKind::kScores}};
  for (const OutputSet kind : kinds) {
    request.texts.push_back(must(engine.tokenize("which river has a bank")));
    request.texts.back().outputs = kind;
  }
  const std::vector<TokenizedText> texts = request.texts;
  std::promise<WorkResult> promise;
  EXPECT_FALSE(scheduler.submit(std::move(request), [&promise](WorkResult result) { promise.set_value(std::move(result)); }));
  const WorkResult result = promise.get_future().get();
  ASSERT_EQ(result.outputs.size(), kinds.size());
  for (size_t i = 0; i + 1 < kinds.size(); ++i) {
    const TextOutput wanted = run_one(engine, texts[i], kinds[i]);
    EXPECT_EQ(must(result.vectors[i]), wanted.vector) << i;
    EXPECT_EQ(result.outputs[i].tokens.values, wanted.tokens.values) << i;
    ASSERT_EQ(result.outputs[i].sparse.size(), wanted.sparse.size()) << i;
    for (size_t w = 0; w < wanted.sparse.size(); ++w) {
      EXPECT_EQ(result.outputs[i].sparse[w].weight, wanted.sparse[w].weight) << i;
    }
  }
  ASSERT_FALSE(result.vectors.back().has_value());
  EXPECT_EQ(result.vectors.back().error().message, "asked for 'scores', the model gives: vector, sparse, tokens");
}

INSTANTIATE_TEST_SUITE_P(EveryTable, BgeM3, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);
INSTANTIATE_TEST_SUITE_P(EveryTable, TokenHeads, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);

}  // namespace
}  // namespace inlay
