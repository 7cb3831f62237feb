// The folders of tests/golden, which other libraries wrote: tensors and settings are read as those libraries read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "model/model_spec.h"
#include "weights/named_weights.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kGolden = "tests/golden";

class GoldenFolder : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path folder() const { return kGolden / GetParam(); }
  Result<JsonDocument> golden() const { return JsonDocument::read(folder() / "golden.json", 1 << 20); }
};

ModelSpec read(const char* name) {
  Result<ModelSpec> spec = read_model_spec(kGolden / name / "model");
  INLAY_CHECK(spec.has_value(), spec.error().message.c_str());
  return *std::move(spec);
}

std::string torch_name(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "float32";
    case DType::kF16: return "float16";
    case DType::kBF16: return "bfloat16";
    case DType::kI64: return "int64";
    default: return "another";
  }
}

double sum_of(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.element_count()));
  if (!to_float(tensor, 0, values)) return std::nan("");
  double sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

void expect_tensor(const WeightStore& store, std::string_view name, const std::vector<Json>& wanted) {
  const TensorView* const tensor = store.find(name);
  ASSERT_NE(tensor, nullptr) << name;
  EXPECT_EQ(torch_name(tensor->dtype), wanted[0].as_string()) << name;
  std::vector<int64_t> shape;
  const Result<std::vector<Json>> dims = wanted[1].items();
  ASSERT_TRUE(dims.has_value());
  for (const Json& dim : *dims) shape.push_back(dim.as_int().value());
  EXPECT_EQ(tensor->shape, shape) << name;
  if (tensor->dtype != DType::kI64) {
    const double sum = wanted[2].as_double().value();
    EXPECT_NEAR(sum_of(*tensor), sum, 1e-9 * (1 + std::abs(sum))) << name;
  }
}

TEST_P(GoldenFolder, TensorsAreTheOnesThatTorchSees) {
  const Result<WeightStore> store = WeightStore::open(folder() / "model");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Result<JsonDocument> document = golden();
  ASSERT_TRUE(document.has_value()) << document.error().message;
  const auto tensors = document->root().get("tensors")->members();
  ASSERT_TRUE(tensors.has_value());
  EXPECT_EQ(store->names().size(), tensors->size());
  for (const auto& [name, wanted] : *tensors) expect_tensor(*store, name, wanted.items().value());
}

TEST_P(GoldenFolder, MaxLengthIsTheOneThatWasUsed) {
  const Result<JsonDocument> document = golden();
  ASSERT_TRUE(document.has_value()) << document.error().message;
  const std::vector<Json> runs = document->root().get("runs")->items().value();
  EXPECT_EQ(read(GetParam()).max_length, runs[0].get("max_length")->as_int());
  EXPECT_EQ(read(GetParam()).dimensions, runs[0].get("columns")->as_int());
}

TEST_P(GoldenFolder, CaseH30NormsAndTablesAreFoundUnderTheirBareNames) {
  const Result<WeightStore> store = WeightStore::open(folder() / "model");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Result<NamedWeights> weights = NamedWeights::match(*store, "embeddings.word_embeddings.weight");
  ASSERT_TRUE(weights.has_value()) << weights.error().message;
  const EncoderConfig encoder = read(GetParam()).encoder;
  EXPECT_TRUE(weights->require("embeddings.word_embeddings.weight", {encoder.vocab_size, encoder.hidden_size}).has_value());
  EXPECT_TRUE(
      weights->require("embeddings.position_embeddings.weight", {encoder.max_positions, encoder.hidden_size}).has_value());
  EXPECT_TRUE(
      weights->require("embeddings.token_type_embeddings.weight", {encoder.token_types, encoder.hidden_size}).has_value());
  EXPECT_TRUE(weights->require("embeddings.LayerNorm.bias", {encoder.hidden_size}).has_value());
  const auto is_ours = [](std::string_view bare) {
    return bare.starts_with("embeddings.") || bare.starts_with("encoder.layer.");
  };
  EXPECT_THAT(weights->unexpected(is_ours), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Every, GoldenFolder, testing::Values("bert-tiny", "bert-cls-dense", "bert-sharded", "bert-long"),
                         [](const testing::TestParamInfo<const char*>& folder) {
                           std::string name = folder.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(GoldenSpec, CaseH29DenseChain) {
  const ModelSpec spec = read("bert-cls-dense");
  ASSERT_EQ(spec.modules.size(), 4U);
  EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kCls));
  EXPECT_EQ(spec.modules[1].dense.out_features, 10);
  EXPECT_EQ(spec.modules[1].dense.activation, Activation::kTanh);
  EXPECT_EQ(spec.modules[2].dense.in_features, 10);
  EXPECT_FALSE(spec.modules[2].dense.bias);
  EXPECT_EQ(spec.modules[3].kind, ModuleSpec::Kind::kNormalize);
  EXPECT_EQ(spec.default_prompt_name, "query");
  const Result<WeightStore> dense = WeightStore::open(spec.modules[2].dense.folder);
  ASSERT_TRUE(dense.has_value()) << dense.error().message;
  EXPECT_EQ(dense->find("linear.weight")->shape, (std::vector<int64_t>{7, 10}));
}

TEST(GoldenSpec, APlainTransformersFolder) {
  const ModelSpec spec = read("bert-sharded");
  EXPECT_EQ(spec.encoder.activation, Activation::kGeluTanh);
  EXPECT_EQ(spec.encoder.layer_norm_eps, 1e-3F);
  EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kMean));
  EXPECT_THAT(spec.notes, ElementsAre(HasSubstr("no modules.json")));
}

}  // namespace
}  // namespace inlay
