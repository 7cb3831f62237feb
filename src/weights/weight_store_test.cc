#include "weights/weight_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "weights/test_safetensors.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

WeightStore open(const TestFolder& folder) {
  Result<WeightStore> store = WeightStore::open(folder.path());
  INLAY_CHECK(store.has_value(), store.error().message.c_str());
  return *std::move(store);
}

Error error_of(const TestFolder& folder) {
  const Result<WeightStore> store = WeightStore::open(folder.path());
  return store ? Error{ErrorCode::kInternal, "no error"} : store.error();
}

float first_value(const WeightStore& store, std::string_view name) {
  const TensorView* view = store.find(name);
  INLAY_CHECK(view != nullptr, "the tensor is there");
  float value = 0;
  INLAY_CHECK(to_float(*view, 0, {&value, 1}).has_value(), "the tensor is of a float type");
  return value;
}

constexpr const char* kIndex = R"({"metadata":{"total_size":20},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})";

// Two shards; each also holds a tensor that the index doesn't take from it.
void write_shards(const TestFolder& folder) {
  folder.write("model.safetensors.index.json", kIndex);
  folder.write("m-1.safetensors", SafetensorsBuilder().add_floats("a", {2}, 10).add_floats("b", {3}, 66).file());
  folder.write("m-2.safetensors", SafetensorsBuilder().add_floats("b", {3}, 20).add_floats("a", {2}, 77).file());
}

TEST(WeightStore, ReadsOneFile) {
  const TestFolder folder;
  folder.write("model.safetensors", SafetensorsBuilder().add_floats("z", {2, 3}, 5).add("a", "BF16", {1}, "\x20\xc0").file());
  const WeightStore store = open(folder);
  EXPECT_THAT(store.names(), ElementsAre("a", "z"));
  EXPECT_EQ(store.total_bytes(), 26U);
  EXPECT_EQ(store.find("none"), nullptr);
  EXPECT_EQ(store.get("none").error().message, "model.safetensors: tensor 'none' is missing");
  EXPECT_EQ(store.find("z")->shape, (std::vector<int64_t>{2, 3}));
  std::vector<float> values(4);
  ASSERT_TRUE(to_float(*store.find("z"), 2, values).has_value());
  EXPECT_THAT(values, ElementsAre(7, 8, 9, 10));
  EXPECT_EQ(first_value(store, "a"), -2.5F);
}

TEST(WeightStore, CaseH32MixedTypesLoad) {
  const TestFolder folder;
  folder.write("model.safetensors", SafetensorsBuilder()
                                        .add_floats("f32", {1}, 1)
                                        .add("position_ids", "I64", {1, 2}, std::string(16, '\0'))
                                        .add("bf16", "BF16", {1}, std::string_view("\x80\x47", 2))
                                        .add("f16", "F16", {1}, std::string_view("\x00\x3c", 2))
                                        .file());
  const WeightStore store = open(folder);
  EXPECT_EQ(first_value(store, "f32"), 1.0F);
  EXPECT_EQ(first_value(store, "bf16"), 65536.0F);
  EXPECT_EQ(first_value(store, "f16"), 1.0F);
  EXPECT_EQ(store.find("position_ids")->dtype, DType::kI64);
}

TEST(WeightStore, AnUnknownTypeOnlyMattersToWhoAsks) {
  const TestFolder folder;
  folder.write("model.safetensors", SafetensorsBuilder().add("odd", "F3_E9", {5}, "xx").add_floats("a", {1}, 3).file());
  const WeightStore store = open(folder);
  EXPECT_EQ(first_value(store, "a"), 3.0F);
  EXPECT_EQ(store.find("odd"), nullptr);
  EXPECT_TRUE(store.contains("odd"));
  EXPECT_EQ(store.get("odd").error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(store.get("odd").error().message, HasSubstr("'odd' has the unknown element type 'F3_E9'"));
}

TEST(WeightStore, EmptyTensorsConvertToNothing) {
  const TestFolder folder;
  folder.write("model.safetensors", SafetensorsBuilder().add_floats("e", {0, 384}, 0).file());
  EXPECT_TRUE(to_float(*open(folder).find("e"), 0, {}).has_value());
}

TEST(WeightStore, UnalignedTensorsAreReadAsTheyAre) {
  const TestFolder folder;
  folder.write("model.safetensors", SafetensorsBuilder().add("byte", "U8", {1}, "x").add_floats("a", {3}, 3).file());
  EXPECT_EQ(first_value(open(folder), "a"), 3.0F);
}

TEST(WeightStore, ReleasedTensorsCanBeReadAgain) {
  const TestFolder folder;
  folder.write("model.safetensors", SafetensorsBuilder().add_floats("a", {5000}, 3).add_floats("e", {0}, 0).file());
  const WeightStore store = open(folder);
  for (const char* name : {"a", "e", "none"}) store.release(name);
  EXPECT_EQ(first_value(store, "a"), 3.0F);
}

TEST(WeightStore, FollowsLinksAsHubCachesHaveThem) {
  const TestFolder folder;
  folder.write("blobs/0123", SafetensorsBuilder().add_floats("a", {1}, 3).file());
  std::filesystem::create_symlink("blobs/0123", folder.path() / "model.safetensors");
  EXPECT_EQ(first_value(open(folder), "a"), 3.0F);
  std::filesystem::remove(folder.path() / "blobs/0123");
  EXPECT_THAT(error_of(folder).message, HasSubstr("model.safetensors: cannot open"));
}

TEST(WeightStore, CaseH31OnlyFilesOfTheIndexAreUsed) {
  const TestFolder folder;
  write_shards(folder);
  folder.write("model.safetensors", SafetensorsBuilder().add_floats("a", {2}, 1).add_floats("stray", {1}, 1).file());
  const WeightStore store = open(folder);
  EXPECT_THAT(store.names(), ElementsAre("a", "b"));
  EXPECT_EQ(first_value(store, "a"), 10.0F);
  EXPECT_EQ(store.file_of("b"), "m-2.safetensors");
  EXPECT_EQ(store.total_bytes(), 20U);
}

TEST(WeightStore, CaseH31AMissingShardIsNamed) {
  const TestFolder folder;
  write_shards(folder);
  std::filesystem::remove(folder.path() / "m-2.safetensors");
  EXPECT_THAT(error_of(folder).message, HasSubstr("model.safetensors.index.json names m-2.safetensors: "));
  EXPECT_THAT(error_of(folder).message, HasSubstr("cannot open"));
}

TEST(WeightStore, CaseH31ATensorInTwoShardsIsTheIndexsChoice) {
  const TestFolder folder;
  write_shards(folder);
  const WeightStore store = open(folder);
  EXPECT_EQ(first_value(store, "a"), 10.0F);
  EXPECT_EQ(first_value(store, "b"), 20.0F);
}

TEST(WeightStore, CaseH31ATruncatedShardIsNamed) {
  const TestFolder folder;
  write_shards(folder);
  const std::filesystem::path shard = folder.path() / "m-1.safetensors";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  EXPECT_EQ(error_of(folder).code, ErrorCode::kCorrupt);
  EXPECT_THAT(error_of(folder).message, HasSubstr("names m-1.safetensors: "));
  EXPECT_THAT(error_of(folder).message, HasSubstr("truncated?"));
}

TEST(WeightStore, ATensorMissingFromItsShardIsAnError) {
  const TestFolder folder;
  write_shards(folder);
  folder.write("m-2.safetensors", SafetensorsBuilder().add_floats("a", {2}, 0).file());
  EXPECT_THAT(error_of(folder).message, HasSubstr("names m-2.safetensors: tensor 'b' is not in it"));
}

TEST(WeightStore, ShardNamesMustBePlain) {
  for (const char* name : {"../m.safetensors", "/etc/m.safetensors", "x/m.safetensors", "..", ".", "", "a\\\\m.safetensors",
                           "m\\u0000.safetensors"}) {
    const TestFolder folder;
    folder.write("model.safetensors.index.json", fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", name));
    EXPECT_EQ(error_of(folder).code, ErrorCode::kCorrupt) << name;
    EXPECT_THAT(error_of(folder).message, HasSubstr("is no plain file name")) << name;
  }
}

TEST(WeightStore, BadIndexesAreErrors) {
  for (const char* index : {"", "{}", "[]", R"({"weight_map":{}})", R"({"weight_map":[]})", R"({"weight_map":{"a":1}})",
                            R"({"weight_map":{"a":"m.safetensors","a":"m.safetensors"}})"}) {
    const TestFolder folder;
    folder.write("model.safetensors.index.json", index);
    EXPECT_EQ(error_of(folder).code, ErrorCode::kCorrupt) << index;
    EXPECT_THAT(error_of(folder).message, HasSubstr("model.safetensors.index.json")) << index;
  }
  const TestFolder folder;
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"pytorch_model-1.bin"}})");
  EXPECT_EQ(error_of(folder).code, ErrorCode::kUnsupported);
}

TEST(WeightStore, OtherFormatsAreRefusedWithAHint) {
  const TestFolder folder;
  EXPECT_EQ(error_of(folder).code, ErrorCode::kNotFound);
  folder.write("tf_model.h5", "x");
  EXPECT_EQ(error_of(folder).code, ErrorCode::kUnsupported);
  EXPECT_THAT(error_of(folder).message, HasSubstr("tf_model.h5"));
  EXPECT_THAT(error_of(folder).message, HasSubstr("convert"));
}

TEST(WeightStore, SafetensorsComeBeforeTorch) {
  const TestFolder folder;
  std::filesystem::copy("tests/data/weights/torch/zip.bin", folder.path() / "pytorch_model.bin");
  EXPECT_EQ(open(folder).file_of("f32"), "pytorch_model.bin");
  folder.write("model.safetensors", SafetensorsBuilder().add_floats("f32", {1}, 9).file());
  EXPECT_EQ(first_value(open(folder), "f32"), 9.0F);
}

TEST(WeightStore, ReadsShardsOfTorch) {
  const Result<WeightStore> store = WeightStore::open("tests/data/weights/bert-cls-dense-torch");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Result<WeightStore> reference = WeightStore::open("tests/golden/bert-cls-dense/model");
  ASSERT_TRUE(reference.has_value());
  EXPECT_EQ(store->names(), reference->names());
  EXPECT_EQ(store->total_bytes(), reference->total_bytes());
  for (const std::string& name : reference->names()) {
    const std::span<const std::byte> a = store->find(name)->bytes;
    const std::span<const std::byte> b = reference->find(name)->bytes;
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << name;
  }
  EXPECT_EQ(store->file_of("none"), "2 shards of pytorch_model.bin.index.json");
}

}  // namespace
}  // namespace inlay
