// What is read from config.json of encoders other than BERT, and what is refused there.
#include "model/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "model/model_spec.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<ModelSpec> read(const std::string& config) {
  const TestFolder folder;
  folder.write("config.json", config);
  return read_model_spec(folder.path());
}

// Sizes that every config here has, and what a test adds.
std::string with_sizes(const std::string& fields) {
  return R"({"vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 96, )" +
         fields + "}";
}

TransformerConfig must_read(const std::string& config) {
  const Result<ModelSpec> spec = read(config);
  EXPECT_TRUE(spec.has_value()) << spec.error().message;
  return spec ? spec->encoder.transformer : TransformerConfig();
}

void expect_refused(const std::string& config, const std::string& message) {
  const Result<ModelSpec> spec = read(config);
  ASSERT_FALSE(spec.has_value()) << message;
  EXPECT_THAT(spec.error().message, HasSubstr(message));
  EXPECT_THAT(spec.error().message, HasSubstr("config.json"));
}

TEST(Architectures, AnUnknownTypeGetsTheListOfThoseThereAre) {
  const Result<ModelSpec> spec = read(with_sizes(R"("model_type": "mamba")"));
  ASSERT_FALSE(spec.has_value());
  for (const char* name : {"'mamba'", "bert", "modernbert", "qwen3", "gemma3_text", "nomic_bert", "deberta-v2"}) {
    EXPECT_THAT(spec.error().message, HasSubstr(name));
  }
}

TEST(Architectures, ModernBertReadsOldAndNewSpellings) {
  const TransformerConfig old = must_read(with_sizes(
      R"("model_type": "modernbert", "global_attn_every_n_layers": 2, "local_attention": 10, "global_rope_theta": 5000.0,
         "local_rope_theta": null)"));
  EXPECT_THAT(old.is_local, ElementsAre(false, true, false, true));
  EXPECT_EQ(old.local_sight.left, 5);
  EXPECT_EQ(old.local_sight.right, 5);
  EXPECT_EQ(old.local_rope->theta, 5000);  // null: as the global layers
  const TransformerConfig recent = must_read(with_sizes(
      R"("model_type": "modernbert", "layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 7000.0},
                             "sliding_attention": {"rope_type": "linear", "rope_theta": 300.0, "factor": 2.0}})"));
  EXPECT_THAT(recent.is_local, ElementsAre(true, false, false, false));
  EXPECT_EQ(recent.rope->theta, 7000);
  EXPECT_EQ(recent.local_rope->theta, 300);
  EXPECT_EQ(recent.local_rope->kind, RopeConfig::Kind::kLinear);
}

TEST(Architectures, DecodersAreCausalUnlessTheConfigSaysOtherwise) {
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "qwen2")")).sight.right, 0);
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "qwen2", "is_causal": false)")).sight.right, kUnbounded);
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "qwen3", "use_bidirectional_attention": true)")).sight.right, kUnbounded);
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "eurobert")")).sight.right, kUnbounded);
}

TEST(Architectures, WindowsOfDecodersAreOnlyThoseThatAreUsed) {
  EXPECT_THAT(must_read(with_sizes(R"("model_type": "qwen2", "sliding_window": 8)")).is_local, ElementsAre());
  const TransformerConfig used = must_read(
      with_sizes(R"("model_type": "qwen2", "sliding_window": 8, "use_sliding_window": true, "max_window_layers": 3)"));
  EXPECT_THAT(used.is_local, ElementsAre(false, false, false, true));
  EXPECT_EQ(used.local_sight.left, 7);
  EXPECT_EQ(used.local_sight.right, 0);
  EXPECT_THAT(must_read(with_sizes(R"("model_type": "mistral", "sliding_window": null)")).is_local, ElementsAre());
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "mistral")")).is_local.size(), 4U);
}

TEST(Architectures, Qwen3HeadsAre128WideWhereTheConfigIsSilent) {
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "qwen3")")).head_dim, 128);
  EXPECT_EQ(must_read(with_sizes(R"("model_type": "qwen2")")).head_dim, 16);
}

// EmbeddingGemma: a window of 512 means 256 tokens on each side.
TEST(Architectures, GemmaHalvesItsWindowInBothDirections) {
  const std::string gemma = R"("model_type": "gemma3_text", "head_dim": 16, "sliding_window": 512)";
  const TransformerConfig both = must_read(with_sizes(gemma + R"(, "use_bidirectional_attention": true)"));
  EXPECT_EQ(both.local_sight.left, 256);
  EXPECT_EQ(both.local_sight.right, 256);
  EXPECT_EQ(both.sight.right, kUnbounded);
  EXPECT_FLOAT_EQ(both.embedding_scale, 8);
  const TransformerConfig causal = must_read(with_sizes(gemma));
  EXPECT_EQ(causal.local_sight.left, 511);
  EXPECT_EQ(causal.sight.right, 0);
}

TEST(Architectures, FamiliesThatBorrowATypeAreToldApart) {
  const Result<ModelSpec> jina = read(with_sizes(
      R"("model_type": "bert", "position_embedding_type": "alibi", "feed_forward_type": "geglu", "max_position_embeddings": 64)"));
  ASSERT_TRUE(jina.has_value()) << jina.error().message;
  EXPECT_EQ(jina->encoder.model_type, "jina_bert");
  const Result<ModelSpec> v3 = read(with_sizes(
      R"("model_type": "xlm-roberta", "position_embedding_type": "rotary", "rotary_emb_base": 20000.0, "type_vocab_size": 1)"));
  ASSERT_TRUE(v3.has_value()) << v3.error().message;
  EXPECT_EQ(v3->encoder.model_type, "jina_embeddings_v3");
  EXPECT_EQ(v3->encoder.transformer.rope->theta, 20000);
}

TEST(Architectures, WhatWouldChangeTheVectorsIsRefusedByName) {
  expect_refused(with_sizes(R"("model_type": "gemma3_text", "attn_logit_softcapping": 50.0)"), "attn_logit_softcapping");
  expect_refused(with_sizes(R"("model_type": "llama", "rope_scaling": {"type": "longrope", "factor": 2.0})"), "longrope");
  expect_refused(with_sizes(R"("model_type": "llama", "partial_rotary_factor": 0.5)"), "partial_rotary_factor");
  expect_refused(with_sizes(R"("model_type": "new", "layer_norm_type": "rms_norm")"), "layer_norm_type");
  expect_refused(with_sizes(R"("model_type": "new", "logn_attention_scale": true)"), "logn_attention_scale");
  expect_refused(with_sizes(R"("model_type": "deberta-v2", "conv_kernel_size": 3)"), "conv_kernel_size");
  expect_refused(with_sizes(R"("model_type": "deberta-v2", "relative_attention": true, "pos_att_type": "p2p")"),
                 "pos_att_type");
  expect_refused(with_sizes(R"("model_type": "modernbert", "hidden_activation": "mish")"), "hidden_activation");
  expect_refused(R"({"model_type": "nomic_bert", "vocab_size": 100, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 96,
                     "prenorm": true})",
                 "prenorm");
}

TEST(Architectures, SizesThatContradictEachOtherAreRefused) {
  expect_refused(with_sizes(R"("model_type": "llama", "num_key_value_heads": 3)"), "num_key_value_heads");
  expect_refused(with_sizes(R"("model_type": "llama", "head_dim": 7)"), "pairs");
  expect_refused(with_sizes(R"("model_type": "modernbert", "layer_types": ["full_attention"])"), "layer_types");
  expect_refused(with_sizes(R"("model_type": "llama", "rope_scaling": {"type": "linear"})"), "factor");
  expect_refused(with_sizes(R"("model_type": "llama", "rope_theta": -1.0)"), "rope_theta");
}

}  // namespace
}  // namespace inlay
