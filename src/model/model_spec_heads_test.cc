// Families of BERT's design, and folders that give other things than one vector a text.
#include "model/model_spec_test_folder.h"

namespace inlay {
namespace {

using testing::ElementsAre;

const OutputSet kScores = {OutputKind::kScores, OutputKind::kTokens};

std::string config_of(std::string_view members) {
  return fmt::format(R"({{{}, "vocab_size": 100, "max_position_embeddings": 80}})", members);
}

constexpr const char* kSizes =
    R"("hidden_size": 12, "num_hidden_layers": 4, "num_attention_heads": 3, "intermediate_size": 20)";

TEST(ModelSpecFamilies, TheRobertaFamilyCountsPositionsFromThePaddingToken) {
  for (const char* type : {"roberta", "xlm-roberta", "camembert"}) {
    const ModelFolder folder;
    folder.remove("modules.json");
    folder.write("config.json", config_of(fmt::format(R"("model_type": "{}", {}, "layer_norm_eps": 1e-5)", type, kSizes)));
    const ModelSpec spec = folder.read();
    EXPECT_EQ(spec.encoder.pad_token_id, 1);
    EXPECT_EQ(spec.encoder.first_position, 2);
    EXPECT_EQ(spec.encoder.usable_positions(), 78);
    EXPECT_EQ(spec.max_length, 78);
    EXPECT_EQ(spec.encoder.layer_norm_eps, 1e-5F);
  }
}

TEST(ModelSpecFamilies, APaddingTokenThatLeavesNoPositionIsAnError) {
  const ModelFolder folder;
  folder.write("config.json", config_of(fmt::format(R"("model_type": "roberta", {}, "pad_token_id": 79)", kSizes)));
  expect_error(folder, ErrorCode::kCorrupt, "max_position_embeddings 80 leaves no position after pad_token_id 79");
}

TEST(ModelSpecFamilies, DistilBertSpellsItsSizesInItsOwnWay) {
  const ModelFolder folder;
  folder.remove("modules.json");
  folder.write("config.json", config_of(R"("model_type": "distilbert", "dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 20,
                            "activation": "relu", "layer_norm_eps": 0.01)"));
  const EncoderConfig encoder = folder.read().encoder;
  EXPECT_EQ(encoder.hidden_size, 12);
  EXPECT_EQ(encoder.layers, 2);
  EXPECT_EQ(encoder.heads, 3);
  EXPECT_EQ(encoder.intermediate_size, 20);
  EXPECT_EQ(encoder.activation, Activation::kRelu);
  EXPECT_EQ(encoder.token_types, 0);
  EXPECT_EQ(encoder.layer_norm_eps, 1e-12F);
  folder.write("config.json",
               config_of(R"("model_type": "distilbert", "dim": 13, "n_layers": 2, "n_heads": 3, "hidden_dim": 20)"));
  expect_error(folder, ErrorCode::kCorrupt, "config.json: dim 13 is no multiple of n_heads 3");
}

TEST(ModelSpecFamilies, NarrowEmbeddingsAndSharedLayers) {
  const ModelFolder folder;
  folder.remove("modules.json");
  folder.write("config.json",
               config_of(fmt::format(R"("model_type": "albert", {}, "embedding_size": 7, "num_hidden_groups": 2)", kSizes)));
  const EncoderConfig albert = folder.read().encoder;
  EXPECT_EQ(albert.embedding_size, 7);
  EXPECT_EQ(albert.groups, 2);
  EXPECT_EQ(albert.group_layers, 1);
  EXPECT_EQ(albert.activation, Activation::kGeluTanh);
  folder.write("config.json", config_of(fmt::format(R"("model_type": "electra", {}, "embedding_size": 21)", kSizes)));
  expect_error(folder, ErrorCode::kUnsupported, "embedding_size 21 is above intermediate_size 20");
}

TEST(ModelSpecFamilies, UnknownOnesAreNamedBesideThoseThatAreServed) {
  const ModelFolder folder;
  folder.write_config_with(R"("model_type": "gpt2")");
  expect_error(folder, ErrorCode::kUnsupported, "model_type: found 'gpt2', supported: bert, roberta, xlm-roberta, camembert,");
}

class ClassifierFolder : public testing::Test {
 protected:
  ClassifierFolder() {
    folder_.remove("modules.json");
    write("");
  }
  void write(std::string_view members) {
    folder_.write_config_with(fmt::format(R"("architectures": ["BertForSequenceClassification"]{})", members));
  }
  ClassifierSpec classifier() const { return folder_.read().classifier.value(); }

  ModelFolder folder_;
};

TEST_F(ClassifierFolder, LabelsComeFromTheFolder) {
  EXPECT_THAT(classifier().labels, ElementsAre("LABEL_0", "LABEL_1"));
  write(R"(, "id2label": {"1": "good", "0": "bad", "2": "so so"})");
  EXPECT_THAT(classifier().labels, ElementsAre("bad", "good", "so so"));
  EXPECT_TRUE(folder_.read().outputs == kScores);
}

TEST_F(ClassifierFolder, ScoresAreWhatSentenceTransformersMakesOfLogits) {
  write(R"(, "id2label": {"0": "LABEL_0"})");
  EXPECT_EQ(classifier().activation, ScoreActivation::kSigmoid);
  EXPECT_EQ(classifier().probability, ScoreActivation::kSigmoid);
  write(R"(, "id2label": {"0": "a"}, "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity")");
  EXPECT_EQ(classifier().activation, ScoreActivation::kIdentity);
  // The newer key wins over the older one, and its own file over both.
  write(R"(, "id2label": {"0": "a"}, "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",
           "sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"})");
  EXPECT_EQ(classifier().activation, ScoreActivation::kSigmoid);
  folder_.write("config_sentence_transformers.json",
                R"({"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity"})");
  EXPECT_EQ(classifier().activation, ScoreActivation::kIdentity);
  folder_.write("config_sentence_transformers.json", R"({"activation_fn": "my.code.Scale"})");
  EXPECT_EQ(classifier().activation, ScoreActivation::kSigmoid);
  folder_.write("config_sentence_transformers.json", R"({"activation_fn": "torch.nn.modules.activation.Softplus"})");
  expect_error(folder_, ErrorCode::kUnsupported, "activation_fn: found 'torch.nn.modules.activation.Softplus'");
}

TEST_F(ClassifierFolder, SeveralLabelsExcludeEachOtherUnlessTheFolderSaysOtherwise) {
  EXPECT_EQ(classifier().activation, ScoreActivation::kIdentity);
  EXPECT_EQ(classifier().probability, ScoreActivation::kSoftmax);
  write(R"(, "problem_type": "multi_label_classification")");
  EXPECT_EQ(classifier().probability, ScoreActivation::kSigmoid);
}

TEST_F(ClassifierFolder, ATransformerAloneInModulesIsACrossEncoder) {
  folder_.write("modules.json", modules_json({{"sentence_transformers.base.modules.transformer.Transformer", ""}}));
  folder_.write("sentence_bert_config.json", R"({"transformer_task": "sequence-classification"})");
  EXPECT_TRUE(folder_.read().outputs == kScores);
  // With Pooling it embeds, as sentence-transformers' SentenceTransformer does.
  folder_.write("modules.json", modules_json({{"Transformer", ""}, {"Pooling", "1_Pooling"}}));
  EXPECT_TRUE(folder_.read().outputs.has(OutputKind::kVector));
  EXPECT_FALSE(folder_.read().classifier.has_value());
}

TEST(ModelSpecSparse, SpladePooling) {
  const ModelFolder folder;
  folder.write("modules.json", modules_json({{"sentence_transformers.sparse_encoder.models.MLMTransformer", ""},
                                             {"sentence_transformers.sparse_encoder.models.SpladePooling", "1_Splade"}}));
  folder.write("1_Splade/config.json", R"({"pooling_strategy": "sum", "activation_function": "log1p_relu"})");
  const ModelSpec spec = folder.read();
  EXPECT_TRUE(spec.outputs == (OutputSet{OutputKind::kSparse, OutputKind::kTokens}));
  EXPECT_TRUE(spec.sparse->is_sum);
  EXPECT_TRUE(spec.sparse->logs_twice);
  folder.write("1_Splade/config.json", R"({"pooling_strategy": "mean"})");
  expect_error(folder, ErrorCode::kUnsupported, "pooling_strategy: found 'mean', supported: max, sum");
}

TEST(ModelSpecTokens, ModulesOnTokens) {
  const ModelFolder folder;
  const std::string space = "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.";
  folder.write(
      "modules.json",
      modules_json(
          {{"Transformer", ""}, {"Dense", "1_Dense"}, {space + "MultiVectorMask", "2_Mask"}, {"Normalize", "3_Normalize"}}));
  const std::string on_tokens = R"("module_input_name": "token_embeddings", "module_output_name": "token_embeddings")";
  folder.write("1_Dense/config.json", fmt::format(R"({{"in_features": 384, "out_features": 9, "bias": false,
      "activation_function": "torch.nn.modules.linear.Identity", {}}})",
                                                  on_tokens));
  folder.write("2_Mask/config.json", R"({"skiplist_words": [".", ","], "skiplist_tasks": "query"})");
  folder.write("3_Normalize/config.json", fmt::format("{{{}}}", on_tokens));
  const ModelSpec spec = folder.read();
  EXPECT_TRUE(spec.outputs == OutputSet{OutputKind::kTokens});
  ASSERT_EQ(spec.tokens->modules.size(), 2U);
  EXPECT_EQ(spec.tokens->modules[0].dense.out_features, 9);
  EXPECT_THAT(spec.tokens->skipped, ElementsAre(".", ","));
  EXPECT_TRUE(spec.tokens->skips_in_queries);
  EXPECT_FALSE(spec.tokens->skips_in_documents);
  folder.write("1_Dense/config.json", fmt::format(R"({{"in_features": 383, "out_features": 9, {}}})", on_tokens));
  expect_error(folder, ErrorCode::kCorrupt, "in_features: found 383, the module before it gives vectors of 384");
}

TEST(ModelSpecTokens, QueriesAndDocumentsMayHaveTheirOwnLengths) {
  const ModelFolder folder;
  folder.write("modules.json", modules_json({{"Transformer", ""}, {"Normalize", "1_Normalize"}}));
  folder.write("1_Normalize/config.json",
               R"({"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"})");
  folder.write("sentence_bert_config.json", R"({"query_length": 32, "document_length": null})");
  EXPECT_EQ(folder.read().tokens->query_length, 32);
  EXPECT_FALSE(folder.read().tokens->document_length.has_value());
}

TEST(ModelSpecTokens, FilesOfBgeM3) {
  const ModelFolder folder;
  folder.write("tokenizer_config.json", R"({"cls_token": "<s>", "unk_token": {"content": "<unk>"}, "pad_token": null})");
  folder.write("sparse_linear.safetensors", "");
  EXPECT_TRUE(folder.read().outputs == (OutputSet{OutputKind::kVector, OutputKind::kTokens, OutputKind::kSparse}));
  EXPECT_THAT(folder.read().sparse->left_out, ElementsAre("<s>", "<unk>"));
  EXPECT_FALSE(folder.read().tokens.has_value());
  folder.write("colbert_linear.pt", "");
  EXPECT_TRUE(folder.read().tokens->leaves_out_first);
  EXPECT_EQ(folder.read().tokens->weights.filename(), "colbert_linear.pt");
}

}  // namespace
}  // namespace inlay
