// Late chunking against golden hidden states, and dimensions of Matryoshka vectors.
#include "engine/engine_testing.h"

namespace inlay {
namespace {

// A plain encoder with mean pooling and Normalize around the states of heads-roberta.
class Chunks : public testing::Test {
 protected:
  Chunks() {
    link_model(folder_, "heads-roberta", {});
    folder_.write("modules.json", R"([{"path":"","type":"sentence_transformers.models.Transformer"},
        {"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
        {"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
    folder_.write("1_Pooling/config.json", R"({"word_embedding_dimension":36,"pooling_mode_mean_tokens":true})");
  }
  Engine load(std::optional<int> dimensions = {}) const {
    return must(Engine::load({.model = folder_.path(), .dtype = Precision::kFloat32, .threads = 2, .dimensions = dimensions}));
  }
  TestFolder folder_;
};

const std::vector<std::string> kPieces = {"The cats sat", "on the mat,", "unhappily."};  // together an item of heads.json

std::vector<std::vector<double>> golden_states(const std::vector<int32_t>& ids) {
  const JsonDocument golden = must(JsonDocument::read(golden_folder("heads-roberta") / "heads.json", 1 << 24));
  for (const Json& item : must(must(golden.root().get("items")).items())) {
    if (must(item.string_or("first", "")) != "The cats sat on the mat, unhappily.") continue;
    std::vector<int32_t> found;
    for (const Json& id : must(must(item.get("ids")).items())) found.push_back(static_cast<int32_t>(must(id.as_int())));
    EXPECT_EQ(found, ids);
    std::vector<std::vector<double>> states;
    for (const Json& row : must(must(item.get("hidden")).items())) {
      states.emplace_back();
      for (const Json& value : must(row.items())) states.back().push_back(must(value.as_double()));
    }
    return states;
  }
  return {};
}

TEST_F(Chunks, EachIsTheMeanOfItsTokensInTheWholeText) {
  const Engine engine = load();
  const TokenizedText text = must(engine.tokenize_chunks(kPieces, {}));
  ASSERT_EQ(text.chunks.size(), 3U);
  const std::vector<std::vector<double>> states = golden_states(text.ids);
  ASSERT_EQ(states.size(), text.ids.size());
  const TextOutput output = must(std::move(engine.run({&text, 1}).front()));
  ASSERT_EQ(output.chunks.size(), 3U * 36);
  for (size_t chunk = 0; chunk < 3; ++chunk) {
    std::vector<float> mean(36);
    for (int token = text.chunks[chunk].begin; token < text.chunks[chunk].end; ++token) {
      for (size_t c = 0; c < 36; ++c) mean[c] += static_cast<float>(states[static_cast<size_t>(token)][c]);
    }
    EXPECT_GT(cosine(output.chunks.data() + chunk * 36, mean.data(), 36), 0.9999999) << chunk;
  }
  EXPECT_EQ(text.chunks.front().begin, 1);
  EXPECT_EQ(text.chunks.back().end, static_cast<int>(text.ids.size()) - 1);
}

TEST_F(Chunks, ChunksThatCannotRunAreNamed) {
  const Engine engine = load();
  EXPECT_EQ(engine.tokenize_chunks({}, {}).error().code, ErrorCode::kInvalidArgument);
  const std::vector<std::string> blank = {"a boat", " "};
  EXPECT_EQ(engine.tokenize_chunks(blank, {}).error().message, "chunk 1: it has no tokens");
  const std::vector<std::string> many(30, "the river bank");
  const Result<TokenizedText> text = engine.tokenize_chunks(many, {});
  EXPECT_EQ(text.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(text.error().message, "the chunks are more than 56 tokens together, which is the longest text");
  TokenizedText bad = must(engine.tokenize("a boat"));
  bad.chunks = {{1, 9}};
  EXPECT_EQ(engine.check(bad).error().code, ErrorCode::kInvalidArgument);
}

// Cut first, then normalise: the shortened vector has unit length.
TEST_F(Chunks, CaseH16DimensionsAreCutBeforeNormalising) {
  const Engine whole = load(), part = load(7);
  const std::vector<TokenizedText> text = {must(whole.tokenize("hello world"))};
  const std::vector<float> all = must(std::move(whole.embed(text).front()));
  const std::vector<float> few = must(std::move(part.embed(text).front()));
  ASSERT_EQ(few.size(), 7U);
  double squares = 0;
  for (size_t i = 0; i < 7; ++i) squares += double{all[i]} * all[i];
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(few[i], all[i] / std::sqrt(squares), 1e-6);
  for (const int dimensions : {0, 37}) {
    EXPECT_EQ(Engine::load({.model = folder_.path(), .dimensions = dimensions}).error().code, ErrorCode::kInvalidArgument);
  }
  const std::vector<TokenizedText> chunked = {must(part.tokenize_chunks(kPieces, {}))};
  EXPECT_EQ(must(std::move(part.run(chunked).front())).chunks.size(), 3U * 7);
}

}  // namespace
}  // namespace inlay
