// Models that strangers wrote: each fault is an error that names the field.
#include "tokenizer/model_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

std::string error_of(std::string_view text) {
  const JsonDocument document = JsonDocument::parse(text, "tokenizer.json").value();
  const Result<ReadModel> model = read_model(document.root());
  return model ? "none" : model.error().message;
}

std::string kind_of(std::string_view text) {
  const JsonDocument document = JsonDocument::parse(text, "tokenizer.json").value();
  return std::string(read_model(document.root()).value().model->kind());
}

TEST(ReadModel, HostileModelsAreErrorsThatNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"Unigram","unk_id":2,"vocab":[["a",0]]})", "unk_id is 2"},
      {R"({"type":"Unigram","unk_id":null,"vocab":[["a",0]]})", "unk_id"},
      {R"({"type":"Unigram","unk_id":-1,"vocab":[["a",0]]})", "unk_id"},
      {R"({"type":"Unigram","unk_id":0,"vocab":[]})", "unk_id is 0"},
      {R"({"type":"Unigram","unk_id":0,"vocab":[["a",0],["b"]]})", "vocab[1]"},
      {R"({"type":"Unigram","unk_id":0,"vocab":[["a","0"]]})", "vocab[0]"},
      {R"({"type":"Unigram","unk_id":0,"vocab":{"a":0}})", "vocab"},
      {R"({"type":"BPE","vocab":{"a":0}})", "merges"},
      {R"({"type":"BPE","vocab":{"a":0},"merges":["a"]})", "merges[0]"},
      {R"({"type":"BPE","vocab":{"a":0},"merges":["#version: 0.2","a b c"]})", "merges[1]"},
      {R"({"type":"BPE","vocab":{"a":0},"merges":[["a"]]})", "merges[0]"},
      {R"({"type":"BPE","vocab":{"a":0},"merges":["a b"]})", "'b' is not in the vocabulary"},
      {R"({"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1})", "dropout"},
      {R"({"type":"BPE","vocab":{"a":4294967296},"merges":[]})", "the id of 'a'"},
      {R"({"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"<unk>"})", "'<unk>'"},
      {R"({"type":"WordLevel","vocab":{"a":0},"unk_token":"b"})", "'b'"},
      {R"({"type":"Bpe","vocab":{}})", "'Bpe'"},
      {R"({"vocab":{"a":0}})", "type"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(error_of(text), testing::HasSubstr(message)) << text;
    EXPECT_THAT(error_of(text), testing::HasSubstr("tokenizer.json")) << text;
  }
}

TEST(ReadModel, TellsUntypedModelsByTheirFields) {
  EXPECT_EQ(kind_of(R"({"vocab":{"a":0},"merges":[]})"), "BPE");
  EXPECT_EQ(kind_of(R"({"vocab":[["a",0]],"unk_id":0})"), "Unigram");
  EXPECT_EQ(kind_of(R"({"vocab":{"a":0},"unk_token":"a"})"), "WordLevel");
  EXPECT_EQ(kind_of(R"({"vocab":{"a":0},"unk_token":"a","continuing_subword_prefix":"##","max_input_chars_per_word":9})"),
            "WordPiece");
}

}  // namespace
}  // namespace inlay
