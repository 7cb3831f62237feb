#include "model/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec_test_folder.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(ModelSpec, ReadsAPublishedFolder) {
  const ModelFolder folder;
  const ModelSpec spec = folder.read();
  EXPECT_EQ(spec.folder, folder.path());
  EXPECT_EQ(spec.encoder.model_type, "bert");
  EXPECT_THAT(spec.encoder.architectures, ElementsAre("BertModel"));
  EXPECT_EQ(spec.encoder.vocab_size, 30522);
  EXPECT_EQ(spec.encoder.hidden_size, 384);
  EXPECT_EQ(spec.encoder.layers, 6);
  EXPECT_EQ(spec.encoder.heads, 12);
  EXPECT_EQ(spec.encoder.intermediate_size, 1536);
  EXPECT_EQ(spec.encoder.max_positions, 512);
  EXPECT_EQ(spec.encoder.token_types, 2);
  EXPECT_EQ(spec.encoder.layer_norm_eps, 1e-12F);
  EXPECT_EQ(spec.encoder.activation, Activation::kGelu);
  ASSERT_EQ(spec.modules.size(), 2U);
  EXPECT_EQ(spec.modules[1].kind, ModuleSpec::Kind::kNormalize);
  EXPECT_THAT(spec.modules[0].pooling.modes, ElementsAre(Pooling::kMean));
  EXPECT_TRUE(spec.modules[0].pooling.include_prompt);
  EXPECT_EQ(spec.dimensions, 384);
  EXPECT_EQ(spec.similarity, "cosine");
  EXPECT_THAT(spec.prompts, IsEmpty());
  EXPECT_THAT(spec.notes, IsEmpty());
}

// H05: the flag is a step before the tokenizer and leaves the tokenizer's own lower-casing alone.
TEST(ModelSpec, CaseH05LowerCaseFlag) {
  const ModelFolder folder;
  EXPECT_FALSE(folder.read().lower_case_first);
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": true})");
  EXPECT_TRUE(folder.read().lower_case_first);
}

TEST(ModelSpec, CaseH19MaxLength) {
  const ModelFolder folder;
  folder.write("tokenizer.json", R"({"truncation": {"max_length": 128}, "padding": {"strategy": {"Fixed": 128}}})");
  EXPECT_EQ(folder.read().max_length, 256);
}

TEST(ModelSpec, MaxLengthPrecedence) {
  struct Case {
    const char* module_config;
    const char* tokenizer_config;
    int expected;
  };
  const Case cases[] = {
      {R"({"max_seq_length": null})", R"({"model_max_length": 300})", 300},
      {"{}", R"({"model_max_length": 1000000000000000019884624838656})", 512},
      {"{}", R"({"model_max_length": 1e30})", 512},
      {"{}", R"({"model_max_length": null})", 512},
      {"{}", "{}", 512},
      {R"({"max_seq_length": 600})", R"({"model_max_length": 300})", 512},
      {R"({"max_seq_length": 400})", R"({"model_max_length": 300})", 400},
      {R"({"max_seq_length": 400, "tokenizer_args": {"model_max_length": 200}})", "{}", 200},
      {R"({"transformer_task": "feature-extraction", "modality_config": {"text": {}}, "module_output_name": "token_embeddings"})",
       R"({"model_max_length": 77})", 77},
  };
  for (const Case& item : cases) {
    const ModelFolder folder;
    folder.write("sentence_bert_config.json", item.module_config);
    folder.write("tokenizer_config.json", item.tokenizer_config);
    EXPECT_EQ(folder.read().max_length, item.expected) << item.module_config << " " << item.tokenizer_config;
  }
}

TEST(ModelSpec, MaxLengthWithoutFilesAndUnderOldNames) {
  const ModelFolder folder;
  folder.remove("sentence_bert_config.json");
  folder.write("sentence_xlnet_config.json", R"({"max_seq_length": 99})");
  EXPECT_EQ(folder.read().max_length, 99);
  folder.write("sentence_roberta_config.json", R"({"max_seq_length": 98})");
  EXPECT_EQ(folder.read().max_length, 98);
  folder.remove("sentence_roberta_config.json");
  folder.remove("sentence_xlnet_config.json");
  EXPECT_EQ(folder.read().max_length, 512);
  folder.remove("tokenizer_config.json");
  EXPECT_EQ(folder.read().max_length, 512);
}

TEST(ModelSpec, ACutMaxLengthIsNoted) {
  const ModelFolder folder;
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 8192})");
  EXPECT_THAT(folder.read().notes, ElementsAre(HasSubstr("maximum length 8192 is cut to the number of positions, 512")));
}

TEST(ModelSpec, BadMaxLengthsAreErrors) {
  for (const char* value : {"0", "-3", "1.5", "\"256\"", "[]"}) {
    const ModelFolder folder;
    folder.write("sentence_bert_config.json", fmt::format(R"({{"max_seq_length": {}}})", value));
    expect_error(folder, ErrorCode::kCorrupt, "sentence_bert_config.json: max_seq_length: found");
  }
}

TEST(ModelSpec, Prompts) {
  const ModelFolder folder;
  const char* name = "config_sentence_transformers.json";
  folder.write(name, R"({"__version__": {}, "prompts": {"query": "query: ", "document": ""}, "default_prompt_name": "query",
    "similarity_fn_name": "dot_product", "model_type": "SentenceTransformer"})");
  const ModelSpec spec = folder.read();
  EXPECT_THAT(spec.prompts, ElementsAre(Pair("document", ""), Pair("query", "query: ")));
  EXPECT_EQ(spec.default_prompt_name, "query");
  EXPECT_EQ(spec.similarity, "dot");
  folder.write(name, R"({"prompts": {"query": "query: "}, "default_prompt_name": "passage"})");
  expect_error(folder, ErrorCode::kCorrupt, "default_prompt_name: 'passage' is not among the prompts");
  folder.write(name, R"({"prompts": {"query": 3}})");
  expect_error(folder, ErrorCode::kCorrupt, "prompts.query: found an integer, wanted a string");
  folder.write(name, R"({"prompts": null, "default_prompt_name": null, "similarity_fn_name": null})");
  EXPECT_EQ(folder.read().similarity, "cosine");
  EXPECT_EQ(folder.read().default_prompt_name, std::nullopt);
}

TEST(ModelSpec, SimilarityNames) {
  const ModelFolder folder;
  for (const char* similarity : {"cosine", "dot", "euclidean", "manhattan", "maxsim", "meanmaxsim"}) {
    folder.write("config_sentence_transformers.json", fmt::format(R"({{"similarity_fn_name": "{}"}})", similarity));
    EXPECT_EQ(folder.read().similarity, similarity);
  }
  folder.write("config_sentence_transformers.json", R"({"similarity_fn_name": "xtr"})");
  expect_error(folder, ErrorCode::kUnsupported,
               "found 'xtr', supported: cosine, dot, euclidean, manhattan, maxsim, meanmaxsim");
  folder.write("config_sentence_transformers.json", R"({"model_type": "LateInteraction"})");
  expect_error(folder, ErrorCode::kUnsupported,
               "model_type: found 'LateInteraction', supported: SentenceTransformer, CrossEncoder");
}

TEST(ModelSpec, ActivationNames) {
  const std::pair<const char*, Activation> cases[] = {{"gelu", Activation::kGelu},
                                                      {"gelu_python", Activation::kGelu},
                                                      {"gelu_new", Activation::kGeluTanh},
                                                      {"gelu_fast", Activation::kGeluTanh},
                                                      {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                                      {"gelu_accurate", Activation::kGeluTanh},
                                                      {"quick_gelu", Activation::kQuickGelu},
                                                      {"relu", Activation::kRelu},
                                                      {"silu", Activation::kSilu},
                                                      {"swish", Activation::kSilu},
                                                      {"tanh", Activation::kTanh},
                                                      {"sigmoid", Activation::kSigmoid},
                                                      {"linear", Activation::kIdentity}};
  const ModelFolder folder;
  for (const auto& [name, activation] : cases) {
    folder.write_config_with(fmt::format(R"("hidden_act": "{}")", name));
    EXPECT_EQ(folder.read().encoder.activation, activation) << name;
  }
  EXPECT_EQ(activation_name(Activation::kGeluTanh), "gelu_new");
  EXPECT_EQ(activation_name(Activation::kIdentity), "identity");
}

TEST(ModelSpec, PoolingNamesAreTheirOwnInverse) {
  for (const Pooling pooling :
       {Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kMeanSqrtLen, Pooling::kWeightedMean, Pooling::kLastToken}) {
    EXPECT_EQ(pooling_from_name(pooling_name(pooling)), pooling);
  }
  EXPECT_EQ(pooling_from_name("Mean"), std::nullopt);
}

TEST(ModelSpec, ConfigsThatWouldChangeVectorsAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("model_type": "xlnet")", "config.json: model_type: found 'xlnet', supported: bert"},
      {R"("position_embedding_type": "relative_key")", "position_embedding_type: found 'relative_key', supported: absolute"},
      {R"("position_embedding_type": "relative_key")", "found 'relative_key'"},
      {R"("hidden_act": "gelu_10")", "hidden_act: found 'gelu_10', supported: gelu"},
      {R"("is_decoder": true)", "config.json: is_decoder: true"},
      {R"("add_cross_attention": true)", "config.json: add_cross_attention: true"},
      {R"("adapters": {"adapters": {"sts": "x"}})", "config.json: adapters"}};
  for (const auto& [member, message] : cases) {
    const ModelFolder folder;
    folder.write_config_with(member);
    expect_error(folder, ErrorCode::kUnsupported, message);
  }
  const ModelFolder folder;
  folder.write_config_with(R"("adapters": {"adapters": {}}, "is_decoder": false, "quantization_config": null)");
  EXPECT_EQ(folder.read().dimensions, 384);
  folder.write("adapter_config.json", "{}");
  expect_error(folder, ErrorCode::kUnsupported, "adapter_config.json");
}

TEST(ModelSpec, SizesAreBounded) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("hidden_size": 0)", "hidden_size: found 0, wanted 1 to 65536"},
      {R"("hidden_size": 65537)", "hidden_size: found 65537"},
      {R"("hidden_size": "384")", "hidden_size: found a string, wanted an integer"},
      {R"("hidden_size": 385)", "hidden_size 385 is no multiple of num_attention_heads 12"},
      {R"("num_hidden_layers": 1025)", "num_hidden_layers: found 1025"},
      {R"("num_attention_heads": 0)", "num_attention_heads: found 0"},
      {R"("vocab_size": -1)", "vocab_size: found -1"},
      {R"("intermediate_size": 9223372036854775807)", "intermediate_size: found 9223372036854775807"},
      {R"("intermediate_size": 99999999999999999999)", "intermediate_size"},
      {R"("max_position_embeddings": 0)", "max_position_embeddings: found 0"},
      {R"("type_vocab_size": 0)", "type_vocab_size: found 0"},
      {R"("pad_token_id": 30522)", "pad_token_id: found 30522, wanted 0 to 30521"},
      {R"("layer_norm_eps": 0)", "layer_norm_eps: found 0"},
      {R"("layer_norm_eps": -1e-5)", "layer_norm_eps: found -1e-05"},
      {R"("layer_norm_eps": 5)", "layer_norm_eps: found 5"}};
  for (const auto& [member, message] : cases) {
    const ModelFolder folder;
    folder.write_config_with(member);
    expect_error(folder, ErrorCode::kCorrupt, message);
  }
}

TEST(ModelSpec, ConfigsWithGaps) {
  const ModelFolder folder;
  folder.write("config.json",
               R"({"architectures": ["BertForMaskedLM"], "hidden_size": 24, "num_hidden_layers": 1, "vocab_size": 9,
    "num_attention_heads": 3, "intermediate_size": 7, "pad_token_id": null})");
  folder.write_pooling(R"({"embedding_dimension": 24})");
  const ModelSpec spec = folder.read();
  EXPECT_EQ(spec.encoder.model_type, "bert");
  EXPECT_EQ(spec.encoder.max_positions, 512);
  EXPECT_EQ(spec.encoder.token_types, 2);
  EXPECT_EQ(spec.encoder.layer_norm_eps, 1e-12F);
  EXPECT_THAT(spec.notes, testing::Contains(HasSubstr("no model_type; taken from architectures: BertForMaskedLM")));
  folder.write("config.json", R"({"model_type": "bert", "num_hidden_layers": 1})");
  expect_error(folder, ErrorCode::kCorrupt, "config.json: vocab_size is missing");
  folder.write("config.json", "[]");
  expect_error(folder, ErrorCode::kCorrupt, "config.json: wanted an object");
  folder.write("config.json", "{\"model_type\": ");
  expect_error(folder, ErrorCode::kCorrupt, "config.json: not valid JSON");
  folder.remove("config.json");
  expect_error(folder, ErrorCode::kNotFound, "config.json: cannot open");
}

}  // namespace
}  // namespace inlay
