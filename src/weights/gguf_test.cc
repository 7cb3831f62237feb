// tests/data/weights holds files that the gguf package wrote, and what it decodes their blocks to; tools/make_weight_files.py
// made them.
#include "weights/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "weights/gguf_folder.h"
#include "weights/test_files.h"
#include "weights/test_values.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using testing::HasSubstr;

const std::string kBlocks = "tests/data/weights/gguf/blocks.gguf";
const std::string kModel = "tests/data/weights/bert-cls-gguf/bert-cls.gguf";

std::string gguf_error(std::string_view bytes) {
  const Result<GgufFile> file = read_gguf(as_bytes(bytes), "m.gguf");
  return file ? "no error" : file.error().message;
}

TEST(Gguf, BlocksDecodeToTheNumbersOfTheReference) {
  const Result<WeightStore> store = WeightStore::open_file(kBlocks);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Result<WeightStore> reference = WeightStore::open_file("tests/data/weights/gguf/blocks.safetensors");
  ASSERT_TRUE(reference.has_value());
  ASSERT_EQ(store->names(), reference->names());
  ASSERT_EQ(store->names().size(), 11U);
  for (const std::string& name : store->names()) {
    const TensorView& view = *store->find(name);
    ASSERT_EQ(view.shape, reference->find(name)->shape) << name;
    const std::vector<float> wanted = floats_of(*reference->find(name));
    const std::vector<float> found = floats_of(view);
    for (size_t i = 0; i < wanted.size(); ++i) {
      // The reference multiplies in another order now and then.
      ASSERT_NEAR(found[i], wanted[i], 1e-6F * (1 + std::abs(wanted[i]))) << name << " " << i;
    }
    for (size_t begin = 0; begin + 37 < wanted.size(); begin += 29) {
      std::array<float, 37> part = {};
      ASSERT_TRUE(to_float(view, static_cast<int64_t>(begin), part).has_value());
      ASSERT_TRUE(std::equal(part.begin(), part.end(), found.begin() + static_cast<std::ptrdiff_t>(begin))) << name << begin;
    }
  }
}

TEST(Gguf, TensorsHaveTheNamesOfTheCheckpoint) {
  const Result<WeightStore> store = WeightStore::open_file(kModel);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Result<WeightStore> reference = WeightStore::open("tests/golden/bert-cls-dense/model");
  ASSERT_TRUE(reference.has_value());
  size_t count = 0;
  for (const std::string& name : store->names()) {
    const TensorView* wanted = reference->find("bert." + name);
    ASSERT_NE(wanted, nullptr) << name;
    EXPECT_EQ(store->find(name)->shape, wanted->shape) << name;
    EXPECT_EQ(floats_of(*store->find(name)), floats_of(*wanted)) << name;
    ++count;
  }
  EXPECT_EQ(count, 5U + 2U * 16U);
}

TEST(Gguf, ItsFactsBecomeAFolder) {
  const std::string bytes = read_test_file(kModel);
  const Result<GgufFile> file = read_gguf(as_bytes(bytes), "m.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const Result<std::map<std::string, std::string>> files = gguf_folder_files(*file, "m.gguf");
  ASSERT_TRUE(files.has_value()) << files.error().message;
  EXPECT_THAT(files->at("config.json"), HasSubstr(R"("hidden_size":24,"num_hidden_layers":2)"));
  EXPECT_THAT(files->at("1_Pooling/config.json"), HasSubstr(R"("pooling_mode":"cls")"));
  const Result<JsonDocument> found = JsonDocument::parse(files->at("tokenizer.json"), "found");
  const Result<JsonDocument> wanted = JsonDocument::read("tests/golden/bert-cls-dense/model/tokenizer.json", 1 << 20);
  ASSERT_TRUE(found && wanted);
  const Json found_vocabulary = found->root().find("model")->find("vocab").value();
  const std::vector<std::pair<std::string_view, Json>> tokens = wanted->root().find("model")->find("vocab")->members().value();
  EXPECT_EQ(found_vocabulary.members()->size(), tokens.size());
  for (const auto& [token, id] : tokens) {
    ASSERT_TRUE(found_vocabulary.find(token).has_value()) << token;
    EXPECT_EQ(found_vocabulary.find(token)->as_int().value(), id.as_int().value()) << token;
  }
  EXPECT_FALSE(*found->root().find("normalizer")->bool_or("lowercase", true)) << "the vocabulary has capitals";
}

TEST(Gguf, BrokenFilesAreErrors) {
  const std::string whole = read_test_file(kBlocks);
  EXPECT_THAT(gguf_error(""), HasSubstr("truncated?"));
  EXPECT_THAT(gguf_error("GGML" + whole.substr(4)), HasSubstr("no GGUF file"));
  std::string changed = whole;
  changed[4] = 1;
  EXPECT_THAT(gguf_error(changed), HasSubstr("GGUF version 1, wanted 2 or 3"));
  changed = whole;
  std::fill_n(changed.begin() + 8, 8, '\xff');
  EXPECT_THAT(gguf_error(changed), HasSubstr("18446744073709551615 tensors"));
  const size_t padding = 32;  // at most, after the last tensor
  for (size_t size = 0; size + padding < whole.size(); size += 1 + size / 500) {
    ASSERT_THAT(gguf_error(whole.substr(0, size)), testing::Not("no error")) << size;
  }
}

TEST(Gguf, UnknownArchitecturesAreNamed) {
  std::string changed = read_test_file(kModel);
  const size_t at = changed.find("bert", changed.find("general.architecture") + 20);
  changed.replace(at, 4, "bard");
  const Result<GgufFile> file = read_gguf(as_bytes(changed), "m.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_THAT(gguf_folder_files(*file, "m.gguf").error().message,
              HasSubstr("general.architecture: found 'bard', supported: bert, nomic-bert, qwen2, qwen3, gemma-embedding"));
}

}  // namespace
}  // namespace inlay
