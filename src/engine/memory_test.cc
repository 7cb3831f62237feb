// Weights exist once: what was packed is not resident a second time as pages of the model's files.
#include <cstdlib>
#include <fstream>

#include "base/process.h"
#include "engine/engine_testing.h"
#include "weights/test_safetensors.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasHonestMemory = false;
#else
constexpr bool kHasHonestMemory = true;
#endif

namespace inlay {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kSlack = 15 * kMib;  // tokenizer, stacks, the part of a source that is being packed

// A model of some 60 MB whose tables and matrices weigh about the same, with the tokenizer of bert-tiny.
class LargeModel {
 public:
  LargeModel() {
    std::filesystem::copy(golden_model("bert-tiny"), folder_.path(), std::filesystem::copy_options::recursive);
    folder_.write("config.json", fmt::format(R"({{"model_type":"bert","architectures":["BertModel"],"hidden_size":{0},
      "num_hidden_layers":{1},"num_attention_heads":8,"intermediate_size":{2},"hidden_act":"gelu","vocab_size":{3},
      "max_position_embeddings":{4},"type_vocab_size":2,"layer_norm_eps":1e-12}})",
                                             kHidden, kLayers, kFeed, kVocabulary, kPositions));
    folder_.write("1_Pooling/config.json", fmt::format(R"({{"embedding_dimension":{},"pooling_mode":"mean"}})", kHidden));
    add("embeddings.word_embeddings.weight", {kVocabulary, kHidden});
    add("embeddings.position_embeddings.weight", {kPositions, kHidden});
    add("embeddings.token_type_embeddings.weight", {2, kHidden});
    add_pair("embeddings.LayerNorm", {kHidden});
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = fmt::format("encoder.layer.{}.", layer);
      for (const char* name :
           {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"}) {
        add_pair(prefix + name, {kHidden, kHidden});
      }
      add_pair(prefix + "intermediate.dense", {kFeed, kHidden});
      add_pair(prefix + "output.dense", {kHidden, kFeed});
      add_pair(prefix + "attention.output.LayerNorm", {kHidden});
      add_pair(prefix + "output.LayerNorm", {kHidden});
    }
    folder_.write("model.safetensors", builder_.file());
    builder_ = SafetensorsBuilder();
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static constexpr int kHidden = 512, kFeed = 2048, kLayers = 2, kVocabulary = 16000, kPositions = 128;

  void add(const std::string& name, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(random_() % 2001U) * 1e-4F - 0.1F;
    builder_.add(name, "F32", shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  // NAME.weight of this shape and NAME.bias, one number for each row of it.
  void add_pair(const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  }

  TestFolder folder_;
  SafetensorsBuilder builder_;
  std::minstd_rand random_;
};

// The system forgets the peak so far; false where it does not let us.
bool reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5";
  return static_cast<bool>(file.flush());
}

void expect_weights_once(const std::filesystem::path& model, Precision dtype) {
  const bool has_peak = reset_peak();
  const uint64_t before = process_memory().resident;
  const Engine engine = must(Engine::load({.model = model, .dtype = dtype, .threads = 2}));
  const ProcessMemory after = process_memory();
  const EngineMemory memory = engine.memory();
  const uint64_t packed = memory.linear.own + memory.tables.own;
  EXPECT_EQ(packed, engine.weight_bytes());
  EXPECT_LT(after.resident - before, packed + memory.tokenizer + kSlack / 2) << precision_name(dtype);
  if (has_peak) {
    EXPECT_LT(after.peak_resident - before, packed + memory.tokenizer + kSlack) << precision_name(dtype);
  }
  std::printf("%s: %.1f MiB packed, resident grew by %.1f MiB, by %.1f at most\n", std::string(precision_name(dtype)).c_str(),
              static_cast<double>(packed) / kMib, static_cast<double>(after.resident - before) / kMib,
              static_cast<double>(after.peak_resident - before) / kMib);
}

TEST(EngineMemory, WeightsExistOnce) {
  if (!kHasHonestMemory || process_memory().resident == 0) GTEST_SKIP() << "resident memory says nothing here";
  const LargeModel model;
  for (const Precision dtype :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16, Precision::kInt8, Precision::kInt4}) {
    expect_weights_once(model.path(), dtype);
  }
}

// INLAY_TEST_MODEL names a folder with a real model.
TEST(EngineMemory, WeightsOfARealModelExistOnce) {
  const char* model = std::getenv("INLAY_TEST_MODEL");
  if (!kHasHonestMemory || model == nullptr) GTEST_SKIP() << "INLAY_TEST_MODEL is not set";
  for (const Precision dtype :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16, Precision::kInt8, Precision::kInt4}) {
    expect_weights_once(model, dtype);
  }
}

TEST(EngineMemory, LanesAreTouchedAsFarAsBatchesNeed) {
  const Engine engine = must(Engine::load({.model = golden_model("bert-long"), .dtype = Precision::kFloat32, .threads = 1}));
  EXPECT_EQ(engine.memory().lanes.reserved, 0U);
  const EngineLanePtr lane = engine.make_lane();
  const LaneMemory fresh = engine.lane_memory(*lane);
  EXPECT_GT(fresh.reserved, 0U);
  EXPECT_EQ(fresh.touched, 0U);
  std::mt19937 random(1);
  const auto run = [&](size_t tokens) {
    TokenizedText text = random_texts(1, 1, engine.spec().encoder.vocab_size, random).front();
    text.ids.resize(tokens, text.ids.front());
    const TokenizedText* const texts[] = {&text};
    std::vector<float> vector(static_cast<size_t>(engine.dimensions()));
    Result<> status;
    engine.embed_batch(*lane, texts, vector.data(), {&status, 1});
    return engine.lane_memory(*lane);
  };
  const LaneMemory small = run(3);
  const LaneMemory large = run(600);
  EXPECT_GT(small.touched, 0U);
  EXPECT_GT(large.touched, 2 * small.touched);
  EXPECT_LE(large.touched, large.reserved);
}

}  // namespace
}  // namespace inlay
