// Every golden model against what sentence-transformers made of it, on every table of kernels of this CPU.
#include "engine/engine_testing.h"

namespace inlay {
namespace {

constexpr float kFloat32Tolerance =
    4e-6F;  // relative to the run's scale; wrong eps, GELU or positions move vectors by 1e-5 and more

class Golden : public testing::TestWithParam<const Kernels*> {
 protected:
  // Vectors of a run in a precision; also checks the ids.
  std::vector<float> embed(std::string_view name, const GoldenRun& run, Precision dtype) {
    TestFolder folder;
    EngineOptions options = {.model = golden_model(name),
                             .dtype = dtype,
                             .threads = 2,
                             .max_length = run.max_length,
                             .prompt = run.prompt,
                             .dimensions = run.dimensions,
                             .kernels = GetParam(),
                             .task = run.task};
    if (!run.pooling.empty()) {
      write_run_modules(folder, name, run);
      options.model = folder.path();
    } else if (run.normalize) {
      options.normalize = *run.normalize ? Normalize::kOn : Normalize::kOff;
    }
    const Engine engine = must(Engine::load(options));
    EXPECT_EQ(engine.dimensions(), run.columns);
    std::vector<TokenizedText> texts;
    for (size_t i = 0; i < run.texts.size(); ++i) {
      texts.push_back(must(engine.tokenize(run.texts[i])));
      if (run.ids.empty()) continue;
      EXPECT_EQ(texts.back().ids, run.ids[i]) << run.name << ": text " << i;
    }
    std::vector<float> vectors;
    for (const Result<std::vector<float>>& vector : engine.embed(texts)) {
      EXPECT_TRUE(vector.has_value()) << vector.error().message;
      if (vector) vectors.insert(vectors.end(), vector->begin(), vector->end());
    }
    return vectors;
  }

  // What docs/guide/models.md tells of each model.
  void report(std::string_view name, const GoldenRun& run, const std::vector<float>& vectors) {
    float largest = 0;
    double least = 1;
    for (size_t i = 0; i < vectors.size(); ++i) largest = std::max(largest, std::abs(vectors[i] - run.vectors[i]));
    for (size_t at = 0; at < vectors.size(); at += static_cast<size_t>(run.columns)) {
      least = std::min(least, cosine(&vectors[at], &run.vectors[at], run.columns));
    }
    if (run.name != "default") return;
    printf("%s, %s: largest difference %.1e, least cosine 1 - %.1e\n", std::string(name).c_str(), GetParam()->name,
           static_cast<double>(largest), std::max(0.0, 1 - least));
  }

  void expect_cosine(std::string_view name, Precision dtype, double least) {
    const GoldenRun run = read_golden(name).front();
    const std::vector<float> vectors = embed(name, run, dtype);
    ASSERT_EQ(vectors.size(), run.vectors.size());
    for (size_t i = 0; i < run.texts.size(); ++i) {
      const size_t at = i * static_cast<size_t>(run.columns);
      EXPECT_GE(cosine(&vectors[at], &run.vectors[at], run.columns), least) << name << " text " << i;
    }
  }
};

TEST_P(Golden, Float32EqualsTheReference) {
  for (const std::string& name : golden_names()) {
    for (const GoldenRun& run : read_golden(name)) {
      const std::vector<float> vectors = embed(name, run, Precision::kFloat32);
      ASSERT_EQ(vectors.size(), run.vectors.size()) << name << " " << run.name;
      report(name, run, vectors);
      for (size_t i = 0; i < vectors.size(); ++i) {
        ASSERT_NEAR(vectors[i], run.vectors[i], kFloat32Tolerance * run.scale) << name << " " << run.name << " number " << i;
      }
    }
  }
}

// The weights of these models are scaled up, so that they are far more sensitive than trained ones.
TEST_P(Golden, SmallerPrecisionsStayClose) {
  for (const std::string& name : golden_names()) {
    // The other families are made of the same kernels, and the table in use runs them all.
    if (GetParam() != &kernels() && !name.starts_with("bert-")) continue;
    expect_cosine(name, Precision::kBFloat16, 0.99);
    expect_cosine(name, Precision::kFloat16, 0.9999);
    expect_cosine(name, Precision::kInt8, 0.97);
    // Four bits are far from these weights; tests/cli/test_quantize.py compares every family with the floats that the codes
    // stand for.
    if (name.starts_with("bert-")) expect_cosine(name, Precision::kInt4, 0.7);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTable, Golden, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);

}  // namespace
}  // namespace inlay
