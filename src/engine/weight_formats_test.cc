// A model gives the same vectors, bit for bit, whichever format its weights come in. tests/data/weights holds the weights of
// the golden model bert-cls-dense, written by other libraries (tools/make_weight_files.py).
#include "engine/engine_testing.h"

namespace inlay {
namespace {

const std::filesystem::path kWeights = "tests/data/weights";

std::vector<float> vectors_of(const std::filesystem::path& model, const GoldenRun& run) {
  const Engine engine = must(Engine::load({.model = model, .dtype = Precision::kFloat32, .threads = 1}));
  std::vector<TokenizedText> texts;
  for (const std::string& text : run.texts) texts.push_back(must(engine.tokenize(text)));
  std::vector<float> vectors;
  for (const Result<std::vector<float>>& vector : engine.embed(texts)) {
    EXPECT_TRUE(vector.has_value()) << vector.error().message;
    if (vector) vectors.insert(vectors.end(), vector->begin(), vector->end());
  }
  return vectors;
}

// The golden model without its weights.
void copy_without_weights(const std::filesystem::path& model, const std::filesystem::path& target) {
  std::filesystem::copy(model, target, std::filesystem::copy_options::recursive);
  for (const char* file : {"model.safetensors", "2_Dense/model.safetensors", "3_Dense/model.safetensors"}) {
    ASSERT_TRUE(std::filesystem::remove(target / file));
  }
}

TEST(WeightFormats, TorchFilesOfEncoderAndModulesGiveTheSameBits) {
  const GoldenRun run = read_golden("bert-cls-dense").front();
  const TestFolder folder;
  copy_without_weights(golden_model("bert-cls-dense"), folder.path() / "model");
  std::filesystem::copy(kWeights / "bert-cls-dense-torch", folder.path() / "model", std::filesystem::copy_options::recursive);
  EXPECT_EQ(vectors_of(folder.path() / "model", run), vectors_of(golden_model("bert-cls-dense"), run));
}

}  // namespace
}  // namespace inlay
