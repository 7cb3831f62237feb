#include "model/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec_test_folder.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<ModuleSpec::Kind> kinds(const ModelSpec& spec) {
  std::vector<ModuleSpec::Kind> result;
  for (const ModuleSpec& module : spec.modules) result.push_back(module.kind);
  return result;
}

TEST(ModelSpecModules, CaseH28OldPoolingFlags) {
  const ModelFolder folder;
  folder.write_pooling(
      R"({"word_embedding_dimension": 384, "pooling_mode_lasttoken": true, "pooling_mode_weightedmean_tokens": true,
    "pooling_mode_mean_sqrt_len_tokens": true, "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true,
    "pooling_mode_cls_token": true, "include_prompt": false})");
  const ModelSpec spec = folder.read();
  EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kMeanSqrtLen,
                                                         Pooling::kWeightedMean, Pooling::kLastToken));
  EXPECT_FALSE(spec.modules[0].pooling.include_prompt);
  EXPECT_EQ(spec.dimensions, 6 * 384);
}

TEST(ModelSpecModules, CaseH28NewPoolingMode) {
  const std::pair<const char*, Pooling> kModes[] = {{"mean", Pooling::kMean},
                                                    {"cls", Pooling::kCls},
                                                    {"lasttoken", Pooling::kLastToken},
                                                    {"max", Pooling::kMax},
                                                    {"weightedmean", Pooling::kWeightedMean},
                                                    {"mean_sqrt_len_tokens", Pooling::kMeanSqrtLen}};
  const ModelFolder folder;
  for (const auto& [name, mode] : kModes) {
    folder.write_pooling(fmt::format(R"({{"embedding_dimension": 384, "pooling_mode": "{}", "include_prompt": true}})", name));
    EXPECT_THAT(folder.read().modules[0].pooling.modes, ElementsAre(mode)) << name;
  }
  folder.write_pooling(R"({"embedding_dimension": 384, "pooling_mode": ["max", "cls"], "pooling_mode_mean_tokens": true})");
  const ModelSpec spec = folder.read();
  EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kMax, Pooling::kCls));
  EXPECT_EQ(spec.dimensions, 768);
}

TEST(ModelSpecModules, CaseH28UnknownPoolingModes) {
  const ModelFolder folder;
  folder.write_pooling(R"({"embedding_dimension": 384, "pooling_mode": "attention"})");
  expect_error(folder, ErrorCode::kUnsupported, "1_Pooling/config.json: pooling_mode: found 'attention', supported: cls, max");
  folder.write_pooling(R"({"embedding_dimension": 384, "pooling_mode": ["mean", "attention"]})");
  expect_error(folder, ErrorCode::kUnsupported, "pooling_mode[1]: found 'attention'");
  folder.write_pooling(
      R"({"word_embedding_dimension": 384, "pooling_mode_attention": true, "pooling_mode_mean_tokens": true})");
  expect_error(folder, ErrorCode::kUnsupported, "pooling_mode_attention: an unknown pooling mode");
  folder.write_pooling(R"({"embedding_dimension": 384, "pooling_mode": []})");
  expect_error(folder, ErrorCode::kCorrupt, "an empty list");
  folder.write_pooling(R"({"embedding_dimension": 384, "pooling_mode": true})");
  expect_error(folder, ErrorCode::kCorrupt, "found a boolean, wanted a string");
}

TEST(ModelSpecModules, CaseH28NoModeChosenIsMeanWithANote) {
  const ModelFolder folder;
  for (const char* text :
       {R"({"word_embedding_dimension": 384, "pooling_mode_mean_tokens": false, "pooling_mode_attention": false})",
        R"({"embedding_dimension": 384})"}) {
    folder.write_pooling(text);
    const ModelSpec spec = folder.read();
    EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kMean));
    EXPECT_THAT(spec.notes, ElementsAre(HasSubstr("chooses no pooling mode: mean")));
  }
}

TEST(ModelSpecModules, CaseH28NoPoolingFolder) {
  const ModelFolder folder;
  folder.remove("1_Pooling");
  expect_error(folder, ErrorCode::kNotFound, "1_Pooling/config.json: cannot open");
  folder.remove("modules.json");
  const ModelSpec spec = folder.read();
  EXPECT_THAT(kinds(spec), ElementsAre(ModuleSpec::Kind::kPooling));
  EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kMean));
  EXPECT_THAT(spec.notes, ElementsAre(HasSubstr("no modules.json: mean pooling and no normalisation")));
  // Without modules.json sentence-transformers reads neither of these.
  EXPECT_EQ(spec.max_length, 512);
  folder.write_pooling(R"({"embedding_dimension": 384, "pooling_mode": "cls"})");
  EXPECT_THAT(folder.read().modules[0].pooling.modes, ElementsAre(Pooling::kMean));
  EXPECT_THAT(folder.read().notes, testing::Contains(HasSubstr("1_Pooling is ignored")));
}

TEST(ModelSpecModules, PoolingDimensionMustFit) {
  const ModelFolder folder;
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    folder.write_pooling(fmt::format(R"({{"{}": 768, "pooling_mode_mean_tokens": true}})", key));
    expect_error(folder, ErrorCode::kCorrupt, "dimension: found 768, the encoder gives vectors of 384");
  }
  folder.write_pooling(R"({"pooling_mode": "mean"})");
  expect_error(folder, ErrorCode::kCorrupt, "neither embedding_dimension nor word_embedding_dimension");
}

void write_dense(const ModelFolder& folder, std::string_view module, std::string_view members) {
  folder.write(fmt::format("{}/config.json", module), fmt::format("{{{}}}", members));
}

TEST(ModelSpecModules, CaseH29ModulesKeepTheirOrder) {
  const ModelFolder folder;
  folder.write("modules.json",
               modules_json({{"sentence_transformers.base.modules.transformer.Transformer", ""},
                             {"sentence_transformers.sentence_transformer.modules.pooling.Pooling", "1_Pooling"},
                             {"Normalize", "2_Normalize"},
                             {"sentence_transformers.base.modules.dense.Dense", "3_Dense"},
                             {"Dropout", "4_Dropout"},
                             {"LayerNorm", "5_LayerNorm"},
                             {"Dense", "6_Dense"},
                             {"sentence_transformers.base.modules.normalize.Normalize", ""}}));
  write_dense(folder, "3_Dense", R"("in_features": 384, "out_features": 8)");
  write_dense(folder, "5_LayerNorm", R"("dimension": 8)");
  write_dense(folder, "6_Dense",
              R"("in_features": 8, "out_features": 5, "bias": false, "activation_function": "torch.nn.modules.linear.Identity",
                 "module_input_name": "sentence_embedding", "module_output_name": null, "use_residual": false)");
  const ModelSpec spec = folder.read();
  using Kind = ModuleSpec::Kind;
  EXPECT_THAT(kinds(spec),
              ElementsAre(Kind::kPooling, Kind::kNormalize, Kind::kDense, Kind::kLayerNorm, Kind::kDense, Kind::kNormalize));
  EXPECT_EQ(spec.dimensions, 5);
  EXPECT_EQ(spec.modules[2].dense.folder, folder.path() / "3_Dense");
  EXPECT_EQ(spec.modules[2].dense.in_features, 384);
  EXPECT_TRUE(spec.modules[2].dense.bias);
  EXPECT_EQ(spec.modules[2].dense.activation, Activation::kTanh);
  EXPECT_EQ(spec.modules[3].layer_norm.folder, folder.path() / "5_LayerNorm");
  EXPECT_EQ(spec.modules[3].layer_norm.dimension, 8);
  EXPECT_FALSE(spec.modules[4].dense.bias);
  EXPECT_EQ(spec.modules[4].dense.activation, Activation::kIdentity);
}

TEST(ModelSpecModules, CaseH29UnknownModulesAreErrors) {
  for (const char* type : {"WeightedLayerPooling", "StaticEmbedding", "Router", "CNN", "LSTM", "BoW", "WordWeights",
                           "CLIPModel", "Transformer", "Asym"}) {
    const ModelFolder folder;
    folder.write("modules.json", modules_json({{"Transformer", ""}, {type, "1_X"}, {"Pooling", "1_Pooling"}}));
    expect_error(folder, ErrorCode::kUnsupported, fmt::format("modules.json[1].type: found '{}'", type));
    EXPECT_THAT(folder.error().message,
                HasSubstr("supported after the Transformer: Pooling, Dense, Normalize, LayerNorm, Dropout"));
  }
}

TEST(ModelSpecModules, ModuleListsThatMakeNoVector) {
  const ModelFolder folder;
  using List = std::vector<std::pair<std::string, std::string>>;
  const std::pair<List, const char*> cases[] = {
      {{{"Transformer", ""}, {"Normalize", ""}, {"Pooling", "1_Pooling"}}, "[1].type: Normalize comes before Pooling"},
      {{{"Transformer", ""}, {"Dense", "1_Dense"}, {"Pooling", "1_Pooling"}}, "[1].type: Dense comes before Pooling"},
      {{{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Pooling", "1_Pooling"}}, "[2].type: a second Pooling"},
      {{{"Transformer", ""}}, "no Pooling module"},
      {{{"Pooling", "1_Pooling"}}, "the first module is 'Pooling'"},
      {{{"Transformer", ""}, {"custom_st.Pooling", "1_Pooling"}}, "code of the model's authors"}};
  for (const auto& [modules, message] : cases) {
    folder.write("modules.json", modules_json(modules));
    expect_error(folder, ErrorCode::kUnsupported, message);
  }
  folder.write("modules.json", "[]");
  expect_error(folder, ErrorCode::kCorrupt, "an empty list");
  folder.write("modules.json", R"({"0": {}})");
  expect_error(folder, ErrorCode::kCorrupt, "modules.json: found an object, wanted an array");
}

TEST(ModelSpecModules, DenseSettingsThatWouldChangeVectorsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("use_residual": true)", "2_Dense/config.json: use_residual: true is not supported"},
      {R"("module_input_name": "token_embeddings")", "Dense works on tokens, but comes after Pooling"},
      {R"("module_output_name": "other")", "and module_output_name 'other', supported: sentence_embedding or"},
      {R"("activation_function": "torch.nn.modules.activation.Softmax")",
       "activation_function: found 'torch.nn.modules.activation"},
      {R"("activation_function": "my.code.Tanh")", "activation_function: found 'my.code.Tanh'"}};
  const ModelFolder folder;
  folder.write("modules.json", modules_json({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}}));
  for (const auto& [member, message] : cases) {
    write_dense(folder, "2_Dense", fmt::format(R"({}, "in_features": 384, "out_features": 8)", member));
    expect_error(folder, ErrorCode::kUnsupported, message);
  }
  write_dense(folder, "2_Dense", R"("in_features": 383, "out_features": 8)");
  expect_error(folder, ErrorCode::kCorrupt,
               "2_Dense/config.json: in_features: found 383, the module before it gives vectors of 384");
  write_dense(folder, "2_Dense", R"("in_features": 384, "out_features": 0)");
  expect_error(folder, ErrorCode::kCorrupt, "out_features: found 0, wanted 1 to");
  write_dense(folder, "2_Dense", R"("in_features": 384)");
  expect_error(folder, ErrorCode::kCorrupt, "2_Dense/config.json: out_features is missing");
}

TEST(ModelSpecModules, DenseActivations) {
  const std::pair<const char*, Activation> cases[] = {
      {"activation.Tanh", Activation::kTanh}, {"linear.Identity", Activation::kIdentity},
      {"activation.ReLU", Activation::kRelu}, {"activation.GELU", Activation::kGelu},
      {"activation.SiLU", Activation::kSilu}, {"activation.Sigmoid", Activation::kSigmoid}};
  const ModelFolder folder;
  folder.write("modules.json", modules_json({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}}));
  for (const auto& [name, activation] : cases) {
    write_dense(folder, "2_Dense",
                fmt::format(R"("in_features": 384, "out_features": 8, "activation_function": "torch.nn.modules.{}")", name));
    EXPECT_EQ(folder.read().modules[1].dense.activation, activation) << name;
  }
}

TEST(ModelSpecModules, PathsStayInsideTheFolder) {
  for (const char* path : {"../1_Pooling", "/1_Pooling", "a/../../b", "..", "a\\\\..\\\\b", "a\\u0000b"}) {
    const ModelFolder folder;
    folder.write("modules.json", modules_json({{"Transformer", ""}, {"Pooling", path}}));
    expect_error(folder, ErrorCode::kCorrupt, "leads out of the model's folder");
  }
}

TEST(ModelSpecModules, TheTransformerMayHaveItsOwnFolder) {
  const ModelFolder folder;
  for (const char* file : {"config.json", "sentence_bert_config.json", "tokenizer_config.json"}) {
    std::filesystem::create_directories(folder.path() / "0_Transformer");
    std::filesystem::rename(folder.path() / file, folder.path() / "0_Transformer" / file);
  }
  folder.write("modules.json", modules_json({{"Transformer", "0_Transformer"}, {"Pooling", "1_Pooling"}}));
  folder.write("config_sentence_transformers.json", R"({"prompts": {"query": "q: "}})");
  const ModelSpec spec = folder.read();
  EXPECT_EQ(spec.folder, folder.path() / "0_Transformer");
  EXPECT_EQ(spec.max_length, 256);
  EXPECT_EQ(spec.prompts.size(), 1U);
}

}  // namespace
}  // namespace inlay
