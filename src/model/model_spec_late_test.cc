// Folders of late interaction whose queries are filled up: ColBERT's own, and those of sentence-transformers.
#include "model/model_spec_test_folder.h"

namespace inlay {
namespace {

using testing::ElementsAre;

class ColbertFolder : public testing::Test {
 protected:
  ColbertFolder() {
    folder_.remove("modules.json");
    folder_.write_config_with(R"("architectures": ["HF_ColBERT"])");
  }
  ModelFolder folder_;
};

TEST_F(ColbertFolder, WithoutSettingsHasThoseOfColbert) {
  const ModelSpec spec = folder_.read();
  EXPECT_TRUE(spec.outputs == OutputSet{OutputKind::kTokens});
  const TokenSpec& tokens = spec.tokens.value();
  EXPECT_TRUE(tokens.is_inline);
  ASSERT_EQ(tokens.modules.size(), 1U);
  EXPECT_EQ(tokens.modules[0].kind, ModuleSpec::Kind::kNormalize);
  EXPECT_FALSE(tokens.document_length.has_value());
  EXPECT_EQ(tokens.fill->length, 32);
  EXPECT_TRUE(tokens.fill->cuts);
  EXPECT_FALSE(tokens.fill->is_seen);
  EXPECT_EQ(tokens.fill->tokens.front(), "[MASK]");
  EXPECT_THAT(tokens.markers, ElementsAre("[unused0]", "[unused1]"));
  EXPECT_EQ(spec.prompts.at("query"), "[unused0] ");
  EXPECT_EQ(spec.prompts.at("document"), "[unused1] ");
  EXPECT_EQ(spec.default_prompt_name, "document");
  EXPECT_EQ(tokens.skipped.size(), 32U);  // Python's len(string.punctuation)
  EXPECT_THAT(tokens.skipped, testing::IsSupersetOf({"!", "\\", "]", "~", "\""}));
  EXPECT_TRUE(tokens.skips_in_documents);
  EXPECT_FALSE(tokens.skips_in_queries);
}

TEST_F(ColbertFolder, ItsMetadataIsTaken) {
  folder_.write("artifact.metadata", R"({"query_token_id": "[Q]", "doc_token_id": "", "query_maxlen": 24, "doc_maxlen": 220,
                                         "mask_punctuation": false, "attend_to_mask_tokens": true, "dim": 128})");
  folder_.write("tokenizer_config.json", R"({"mask_token": {"content": "<m>"}, "model_max_length": 300})");
  const ModelSpec spec = folder_.read();
  EXPECT_EQ(spec.tokens->fill->length, 24);
  EXPECT_TRUE(spec.tokens->fill->is_seen);
  EXPECT_THAT(spec.tokens->fill->tokens, ElementsAre("<m>"));
  EXPECT_EQ(spec.tokens->document_length, 220);
  EXPECT_THAT(spec.tokens->markers, ElementsAre("[Q]", "[unused1]"));
  EXPECT_TRUE(spec.tokens->skipped.empty());
  EXPECT_EQ(spec.max_length, 300);
}

TEST_F(ColbertFolder, WhatCannotBeFilledIsRefused) {
  folder_.write("artifact.metadata", R"({"query_maxlen": 513})");
  expect_error(folder_, ErrorCode::kCorrupt, "queries are filled up to 513 tokens, the model has 512 positions");
  folder_.write("artifact.metadata", R"({"query_maxlen": "many"})");
  expect_error(folder_, ErrorCode::kCorrupt, "artifact.metadata: query_maxlen: found a string, wanted an integer");
  folder_.write("artifact.metadata", "{}");
  folder_.write("tokenizer_config.json", R"({"padding_side": "left"})");
  expect_error(folder_, ErrorCode::kUnsupported, "padding_side: queries are filled up on the right only");
}

class ExpansionFolder : public testing::Test {
 protected:
  ExpansionFolder() {
    folder_.write("modules.json", modules_json({{"Transformer", ""}, {"MultiVectorMask", "1_Mask"}, {"Normalize", "2_Norm"}}));
    folder_.write("2_Norm/config.json", R"({"module_input_name": "token_embeddings"})");
  }
  void expand(std::string_view expansion, std::string_view more = "") {
    folder_.write("sentence_bert_config.json", fmt::format(R"({{"query_expansion": {}{}}})", expansion, more));
  }
  QueryFill fill() const { return folder_.read().tokens->fill.value(); }

  ModelFolder folder_;
};

TEST_F(ExpansionFolder, StrategiesAndAttentionAreTaken) {
  expand("null");
  EXPECT_FALSE(folder_.read().tokens->fill.has_value());
  expand(R"({"strategy": "fixed", "length": 31})");
  EXPECT_EQ(fill().length, 31);
  EXPECT_TRUE(fill().cuts);
  EXPECT_FALSE(fill().is_seen);
  expand(R"({"strategy": "min", "attend": true, "token": "[SEP]", "length": 8})", R"(, "query_length": 20)");
  EXPECT_FALSE(fill().cuts);
  EXPECT_TRUE(fill().is_seen);
  EXPECT_THAT(fill().tokens, ElementsAre("[SEP]"));
  EXPECT_EQ(folder_.read().tokens->query_length, 20);
}

TEST_F(ExpansionFolder, WhatIsNotUnderstoodIsRefused) {
  expand(R"({"strategy": "some", "length": 31})");
  expect_error(folder_, ErrorCode::kUnsupported, "strategy: found 'some', supported: fixed, min");
  expand(R"({"strategy": "fixed"})");
  expect_error(folder_, ErrorCode::kCorrupt, "query_expansion.length");
  expand(R"({"strategy": "fixed", "length": 31, "colour": 1})");
  expect_error(folder_, ErrorCode::kUnsupported, "colour: an unknown setting; supported: strategy, attend, token, length");
  expand(R"({"strategy": "min", "length": 31})", R"(, "query_length": 20)");
  expect_error(folder_, ErrorCode::kCorrupt, "length 31 is above query_length 20");
}

// Nothing would say that the filled tokens get vectors.
TEST_F(ExpansionFolder, AMaskIsNeeded) {
  expand(R"({"strategy": "fixed", "length": 31})");
  folder_.write("modules.json", modules_json({{"Transformer", ""}, {"Normalize", "2_Norm"}}));
  expect_error(folder_, ErrorCode::kUnsupported, "query_expansion: served only with a MultiVectorMask");
  folder_.write("modules.json", modules_json({{"Transformer", ""}, {"Pooling", "1_Pooling"}}));
  expect_error(folder_, ErrorCode::kUnsupported, "query_expansion: served only with a MultiVectorMask");
}

// In the reference a token that sees nothing attends to everything, padding included.
TEST_F(ExpansionFolder, TokensThatNobodySeesMustSeeTheQuery) {
  folder_.write_config_with(R"("architectures": ["ModernBertModel"], "model_type": "modernbert", "local_attention": 16,
      "global_attn_every_n_layers": 2, "global_rope_theta": 10000.0, "local_rope_theta": 10000.0)");
  expand(R"({"strategy": "fixed", "length": 9})");
  EXPECT_EQ(fill().length, 9);
  expand(R"({"strategy": "fixed", "length": 10})");
  expect_error(folder_, ErrorCode::kUnsupported, "not served in windows of 8 tokens");
  expand(R"({"strategy": "fixed", "length": 10, "attend": true})");
  EXPECT_EQ(fill().length, 10);
}

}  // namespace
}  // namespace inlay
