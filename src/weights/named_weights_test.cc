#include "weights/named_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "weights/test_safetensors.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kProbe = "embeddings.word_embeddings.weight";

// A store over one file, kept alive together with its folder.
struct Fixture {
  explicit Fixture(const SafetensorsBuilder& builder) : store(write(builder)) {}
  NamedWeights match() const {
    Result<NamedWeights> weights = NamedWeights::match(store, kProbe);
    INLAY_CHECK(weights.has_value(), weights.error().message.c_str());
    return *std::move(weights);
  }

  TestFolder folder;
  WeightStore store;

 private:
  WeightStore write(const SafetensorsBuilder& builder) const {
    folder.write("model.safetensors", builder.file());
    Result<WeightStore> opened = WeightStore::open(folder.path());
    INLAY_CHECK(opened.has_value(), opened.error().message.c_str());
    return *std::move(opened);
  }
};

bool is_known(std::string_view bare) { return bare == kProbe || bare == "encoder.layer.0.LayerNorm.weight"; }

TEST(NamedWeights, CaseH30FindsTensorsUnderAnyPrefix) {
  for (const std::string prefix : {"", "bert.", "roberta.", "model.", "0.auto_model.", "encoder.", "my.own.wrapper."}) {
    const Fixture fixture(SafetensorsBuilder()
                              .add_floats(prefix + kProbe, {3, 2}, 1)
                              .add_floats(prefix + "pooler.dense.weight", {2, 2}, 0)
                              .add_floats("cls.predictions.bias", {3}, 0)
                              .add_floats("lm_head.bias", {3}, 0)
                              .add(prefix + "embeddings.position_ids", "I64", {1, 1}, "12345678")
                              .add_floats(prefix + "encoder.layer.0.LayerNorm.weight", {2}, 9));
    const NamedWeights weights = fixture.match();
    EXPECT_EQ(weights.prefix(), prefix);
    const Result<const TensorView*> norm = weights.require("encoder.layer.0.LayerNorm.weight", {2});
    ASSERT_TRUE(norm.has_value()) << norm.error().message;
    EXPECT_EQ(*norm, fixture.store.find(prefix + "encoder.layer.0.LayerNorm.weight"));
    EXPECT_THAT(weights.unexpected(is_known), IsEmpty()) << prefix;
  }
}

TEST(NamedWeights, CaseH30AMissingTensorIsNamed) {
  const Fixture fixture(SafetensorsBuilder().add_floats(std::string("bert.") + kProbe, {3, 2}, 1));
  const NamedWeights weights = fixture.match();
  const Error error = weights.require("encoder.layer.0.LayerNorm.weight", {2}).error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_EQ(error.message, "model.safetensors: tensor 'bert.encoder.layer.0.LayerNorm.weight' is missing, wanted shape [2]");
  EXPECT_EQ(weights.optional("encoder.layer.0.LayerNorm.weight", {2}), nullptr);
  EXPECT_THAT(NamedWeights::match(fixture.store, "no.such.weight").error().message,
              HasSubstr("'no.such.weight' under any prefix"));
}

TEST(NamedWeights, ShapeAndTypeAreChecked) {
  const Fixture fixture(SafetensorsBuilder()
                            .add_floats(kProbe, {3, 2}, 1)
                            .add("a", "I8", {2}, "xx")
                            .add("b", "WHAT", {2}, "xx")
                            .add("c", "F64", {}, "12345678"));
  const NamedWeights weights = fixture.match();
  EXPECT_EQ(weights.require(kProbe, {2, 3}).error().message,
            "model.safetensors: tensor 'embeddings.word_embeddings.weight' has shape [3, 2], wanted [2, 3]");
  EXPECT_EQ(weights.optional(kProbe, {6}).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(weights.require("a", {2}).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(weights.require("a", {2}).error().message, HasSubstr("is of type I8, wanted F32, F16, BF16 or F64"));
  EXPECT_THAT(weights.require("b", {2}).error().message, HasSubstr("unknown element type 'WHAT'"));
  EXPECT_TRUE(weights.require("c", {}).has_value());
}

TEST(NamedWeights, GammaAndBetaAreOldNames) {
  const Fixture fixture(SafetensorsBuilder()
                            .add_floats(kProbe, {3, 2}, 1)
                            .add_floats("encoder.layer.0.LayerNorm.gamma", {2}, 9)
                            .add_floats("encoder.layer.0.LayerNorm.beta", {2}, 9));
  const NamedWeights weights = fixture.match();
  EXPECT_TRUE(weights.require("encoder.layer.0.LayerNorm.weight", {2}).has_value());
  EXPECT_TRUE(weights.require("encoder.layer.0.LayerNorm.bias", {2}).has_value());
  EXPECT_EQ(weights.full_name("encoder.layer.0.LayerNorm.bias"), "encoder.layer.0.LayerNorm.beta");
  EXPECT_THAT(weights.unexpected(is_known), ElementsAre("encoder.layer.0.LayerNorm.beta"));
}

TEST(NamedWeights, OfSeveralPrefixesAUsualOneWins) {
  const Fixture two(SafetensorsBuilder()
                        .add_floats(std::string("teacher.") + kProbe, {1}, 1)
                        .add_floats(std::string("bert.") + kProbe, {1}, 2));
  EXPECT_EQ(two.match().prefix(), "bert.");
  const Fixture strange(
      SafetensorsBuilder().add_floats(std::string("x.") + kProbe, {1}, 1).add_floats(std::string("y.") + kProbe, {1}, 2));
  EXPECT_THAT(NamedWeights::match(strange.store, kProbe).error().message, HasSubstr("under several prefixes, 'x.' and 'y.'"));
  // "my_embeddings..." ends like the probe but is another name.
  const Fixture longer(SafetensorsBuilder().add_floats(std::string("my_") + kProbe, {1}, 1));
  EXPECT_FALSE(NamedWeights::match(longer.store, kProbe).has_value());
}

TEST(NamedWeights, ReportsWhatNobodyExpects) {
  const Fixture fixture(SafetensorsBuilder()
                            .add_floats(std::string("bert.") + kProbe, {3, 2}, 1)
                            .add_floats("bert.encoder.layer.0.q_norm.weight", {2}, 0)
                            .add_floats("classifier.weight", {2}, 0)
                            .add_floats("bert.encoder.layer.0.rotary_emb.inv_freq", {2}, 0)
                            .add_floats("bert.pooler_extra", {1}, 0));
  EXPECT_THAT(fixture.match().unexpected(is_known),
              ElementsAre("bert.encoder.layer.0.q_norm.weight", "bert.pooler_extra", "classifier.weight"));
}

}  // namespace
}  // namespace inlay
