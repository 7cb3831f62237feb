// A model gives the same vectors, bit for bit, whichever format its weights come in. tests/data/weights holds the weights of
// the golden model bert-cls-dense, written by other libraries (tools/make_weight_files.py).
#include "engine/engine_testing.h"
#include "weights/gguf.h"
#include "weights/gguf_folder.h"

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

TEST(WeightFormats, OnnxGivesTheSameBits) {
  const GoldenRun run = read_golden("bert-cls-dense").front();
  const TestFolder folder;
  const std::filesystem::path model = folder.path() / "model";
  std::filesystem::copy(golden_model("bert-cls-dense"), model, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(std::filesystem::remove(model / "model.safetensors"));
  std::filesystem::copy(kWeights / "bert-cls-onnx/external", model / "onnx");
  EXPECT_EQ(vectors_of(model, run), vectors_of(golden_model("bert-cls-dense"), run));
}

// A golden model as a GGUF file describes it: without the modules after pooling, with a normalised vector, and with capitals.
void write_gguf_reference(const TestFolder& folder, const std::map<std::string, std::string>& files) {
  std::filesystem::copy(golden_model("bert-cls-dense"), folder.path(),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(folder.path() / "config_sentence_transformers.json");
  for (const char* name : {"modules.json", "1_Pooling/config.json", "sentence_bert_config.json"})
    folder.write(name, files.at(name));
  std::string tokenizer = must(read_file(golden_model("bert-cls-dense") / "tokenizer.json", 1 << 20));
  const size_t at = tokenizer.find("true", tokenizer.find("\"lowercase\""));
  ASSERT_NE(at, std::string::npos);
  folder.write("tokenizer.json", tokenizer.replace(at, 4, "false"));
  folder.write("tokenizer_config.json", files.at("tokenizer_config.json"));
}

TEST(WeightFormats, GgufGivesTheSameBits) {
  const std::filesystem::path file = kWeights / "bert-cls-gguf/bert-cls.gguf";
  const std::string bytes = must(read_file(file, 1 << 20));
  const GgufFile gguf = must(read_gguf(std::as_bytes(std::span(bytes)), "bert-cls.gguf"));
  const std::map<std::string, std::string> files = must(gguf_folder_files(gguf, "bert-cls.gguf"));
  const TestFolder laid_out;
  for (const auto& [name, text] : files) laid_out.write(name, text);
  std::filesystem::copy(file, laid_out.path() / "model.gguf");
  const TestFolder reference;
  write_gguf_reference(reference, files);
  const GoldenRun run = read_golden("bert-cls-dense").front();
  EXPECT_EQ(vectors_of(laid_out.path(), run), vectors_of(reference.path(), run));
}

}  // namespace
}  // namespace inlay
