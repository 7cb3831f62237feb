// For tests: model folders on disk, and what reading them says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/test_folder.h"
#include "model/model_spec.h"

namespace inlay {

inline constexpr const char* kConfig = R"({
  "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
  "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2, "pad_token_id": 0,
  "hidden_act": "gelu", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute", "unknown_key": [{}]})";

inline constexpr const char* kPooling = R"({"word_embedding_dimension": 384, "pooling_mode_cls_token": false,
  "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})";

// {type, path} pairs as modules.json; types without a dot get the old namespace.
inline std::string modules_json(const std::vector<std::pair<std::string, std::string>>& modules) {
  std::string text;
  for (const auto& [type, path] : modules) {
    const std::string full = type.find('.') == std::string::npos ? "sentence_transformers.models." + type : type;
    text += fmt::format(R"({}{{"idx":0,"name":"0","path":"{}","type":"{}"}})", text.empty() ? "" : ",", path, full);
  }
  return "[" + text + "]";
}

// A folder shaped as all-MiniLM-L6-v2 is published; tests replace or add files.
struct ModelFolder : TestFolder {
  ModelFolder() {
    write("config.json", kConfig);
    write("modules.json", modules_json({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}}));
    write("1_Pooling/config.json", kPooling);
    write("sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": false})");
    write("tokenizer_config.json", R"({"model_max_length": 512, "do_lower_case": true})");
  }

  // config.json with one member put before the others: the first of two wins, so that this replaces it.
  void write_config_with(std::string_view member) const { write("config.json", fmt::format("{{{},{}", member, kConfig + 1)); }
  void write_pooling(std::string_view text) const { write("1_Pooling/config.json", text); }
  void remove(std::string_view file) const { std::filesystem::remove_all(path() / file); }

  ModelSpec read() const {
    Result<ModelSpec> spec = read_model_spec(path());
    INLAY_CHECK(spec.has_value(), spec.error().message.c_str());
    return *std::move(spec);
  }
  Error error() const {
    const Result<ModelSpec> spec = read_model_spec(path());
    return spec ? Error{ErrorCode::kInternal, "no error"} : spec.error();
  }
};

inline void expect_error(const ModelFolder& folder, ErrorCode code, std::string_view message) {
  const Error error = folder.error();
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_THAT(error.message, testing::HasSubstr(message));
}

}  // namespace inlay
