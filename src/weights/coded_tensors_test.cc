// Matrices of codes in folders: our own layout here; GPTQ's and AWQ's are packed by tests/cli/checkpoints.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "tensor/coded_matrix.h"
#include "weights/test_safetensors.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kInt8 = R"({"quantization_config":{"quant_method":"inlay","dtype":"int8"}})";
constexpr const char* kInt4 = R"({"quantization_config":{"quant_method":"inlay","dtype":"int4","group_size":8}})";

template <class Number>
std::string raw(const std::vector<Number>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
}

WeightStore open(const TestFolder& folder) {
  Result<WeightStore> store = WeightStore::open(folder.path());
  INLAY_CHECK(store.has_value(), store.error().message.c_str());
  return *std::move(store);
}

std::vector<float> floats(const TensorView& view, int64_t begin, size_t count) {
  std::vector<float> values(count);
  INLAY_CHECK(to_float(view, begin, values).has_value(), "coded matrices are readable");
  return values;
}

TEST(CodedTensors, BytesWithAScaleARow) {
  const TestFolder folder;
  folder.write("config.json", kInt8);
  folder.write("model.safetensors", SafetensorsBuilder()
                                        .add("a.weight_q", "I8", {2, 3}, raw<int8_t>({1, -127, 0, 5, 6, 7}))
                                        .add("a.weight_scale", "F32", {2}, raw<float>({0.5F, 2.0F}))
                                        .add_floats("a.bias", {2}, 1)
                                        .file());
  const WeightStore store = open(folder);
  EXPECT_THAT(store.names(), ElementsAre("a.bias", "a.weight"));
  EXPECT_EQ(store.quantization()->dtype, "int8");
  const TensorView& view = *store.find("a.weight");
  EXPECT_EQ(view.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_THAT(floats(view, 0, 6), ElementsAre(0.5F, -63.5F, 0, 10, 12, 14));
  EXPECT_THAT(floats(view, 2, 3), ElementsAre(0, 10, 12)) << "a range across rows";
  ASSERT_NE(view.coded, nullptr);
  EXPECT_EQ(view.coded->kind(), CodedMatrix::Kind::kBytes);
  std::vector<int8_t> codes(3);
  EXPECT_EQ(view.coded->read_codes(1, codes), 2.0F);
  EXPECT_THAT(codes, ElementsAre(5, 6, 7));
  EXPECT_EQ(view.coded->stored_bytes(), 14U);
}

// One row of ten columns: groups of eight and two, under the factors -8 and 4.
SafetensorsBuilder levels() {
  return SafetensorsBuilder()
      .add("a.weight_q", "U8", {1, 5}, raw<uint8_t>({0x10, 0x32, 0x54, 0x76, 0xf8}))
      .add("a.weight_factor", "U8", {1, 1}, raw<uint8_t>({0x48}))
      .add("a.weight_scale", "F32", {1}, raw<float>({0.5F}));
}

TEST(CodedTensors, FourBitsInGroups) {
  const TestFolder folder;
  folder.write("config.json", kInt4);
  folder.write("model.safetensors", levels().file());
  const WeightStore store = open(folder);
  EXPECT_THAT(store.names(), ElementsAre("a.weight"));
  const TensorView& view = *store.find("a.weight");
  EXPECT_EQ(view.shape, (std::vector<int64_t>{1, 10}));
  EXPECT_THAT(floats(view, 0, 10), ElementsAre(63.5F, 52, 41.5F, 32.5F, 24.5F, 17.5F, 11, 5, 0, 28.5F));
  EXPECT_EQ(view.coded->kind(), CodedMatrix::Kind::kLevels);
  EXPECT_EQ(view.coded->group(), 8);
  EXPECT_EQ(view.coded->stored_bytes(), 10U);
  LevelRow row;
  view.coded->read_levels(0, row);
  EXPECT_THAT(row.codes, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 15));
  EXPECT_THAT(row.factors, ElementsAre(-8, 4));
  EXPECT_EQ(row.scale, 0.5F);
  std::vector<int8_t> bytes(10);
  EXPECT_EQ(view.coded->read_codes(0, bytes), 0.5F);
  EXPECT_THAT(bytes, ElementsAre(127, 104, 83, 65, 49, 35, 22, 10, 0, 57));
}

TEST(CodedTensors, NamesLikeOursMeanNothingInOtherFolders) {
  const TestFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", levels().file());
  EXPECT_THAT(open(folder).names(), ElementsAre("a.weight_factor", "a.weight_q", "a.weight_scale"));
}

TEST(CodedTensors, PartsThatContradictEachOtherAreCorrupt) {
  const auto error_of = [](const std::string& config, const SafetensorsBuilder& builder) {
    const TestFolder folder;
    folder.write("config.json", config);
    folder.write("model.safetensors", builder.file());
    const Result<WeightStore> store = WeightStore::open(folder.path());
    EXPECT_FALSE(store.has_value());
    return store ? std::string() : store.error().message;
  };
  const std::string codes = raw<int8_t>({1, 2, 3, 4});
  EXPECT_THAT(error_of(kInt8, SafetensorsBuilder().add("a.weight_q", "I8", {2, 2}, codes)),
              HasSubstr("'a.weight_scale' is missing"));
  EXPECT_THAT(
      error_of(kInt8,
               SafetensorsBuilder().add("a.weight_q", "I8", {2, 2}, codes).add("a.weight_scale", "F32", {1}, raw<float>({1}))),
      HasSubstr("wanted F32 [2]"));
  const SafetensorsBuilder four_bits =
      SafetensorsBuilder().add("a.weight_q", "U8", {2, 2}, codes).add("a.weight_scale", "F32", {2}, raw<float>({1, 1}));
  EXPECT_THAT(error_of(kInt4, four_bits), HasSubstr("'a.weight_factor' is missing"));
  EXPECT_THAT(error_of(kInt4, SafetensorsBuilder(four_bits).add("a.weight_factor", "U8", {2, 2}, codes)),
              HasSubstr("wanted U8 [2, 1]"));
  EXPECT_THAT(error_of(kInt4, SafetensorsBuilder()
                                  .add("a.weight_q", "U8", {2, 2}, codes)
                                  .add("a.weight_factor", "U8", {2, 1}, raw<uint8_t>({1, 1}))
                                  .add("a.weight_scale", "F16", {2, 1}, raw<uint16_t>({1, 1}))),
              HasSubstr("wanted F32 [2]"));
  EXPECT_THAT(error_of(kInt8, SafetensorsBuilder().add("a.weight_q", "I8", {4}, codes)), HasSubstr("two dimensions"));
}

TEST(QuantizationConfig, WhatNobodyReadsIsUnsupported) {
  for (const auto& [config, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"quantization_config":{"quant_method":"inlay","dtype":"int3"}})", "dtype is 'int3'"},
           {R"({"quantization_config":{"quant_method":"fp8"}})", "quant_method is 'fp8'"},
           {R"({"quantization_config":{"quant_method":"gptq","bits":8}})", "bits is 8"},
           {R"({"quantization_config":{"quant_method":"gptq","bits":4,"checkpoint_format":"marlin"}})", "marlin"},
           {R"({"quantization_config":{"quant_method":"awq","w_bit":4,"version":"gemv"}})", "gemv"}}) {
    const TestFolder folder;
    folder.write("config.json", config);
    const Result<std::optional<QuantizationConfig>> read = read_quantization_config(folder.path());
    ASSERT_FALSE(read.has_value()) << config;
    EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(read.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace inlay
