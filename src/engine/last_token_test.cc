// Last-token pooling reads the end of each text, wherever a tokenizer would put padding.
#include <gmock/gmock.h>

#include "engine/engine_testing.h"

namespace inlay {
namespace {

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += i % 3 == 0 ? "river " : i % 3 == 1 ? "bank " : "cat ";
  return text;
}

Engine load_padding(const TestFolder& folder, std::string_view side) {
  link_model(folder, "qwen3-tiny", {"tokenizer_config.json"});
  for (const char* file : {"modules.json", "1_Pooling"}) {
    std::error_code ignored;
    std::filesystem::create_symlink(std::filesystem::absolute(golden_model("qwen3-tiny") / file), folder.path() / file,
                                    ignored);
  }
  folder.write(
      "tokenizer_config.json",
      fmt::format(R"({{"tokenizer_class":"PreTrainedTokenizerFast","model_max_length":100,"padding_side":"{}"}})", side));
  return must(Engine::load({.model = folder.path(), .dtype = Precision::kFloat32, .threads = 1}));
}

std::vector<std::vector<float>> vectors_of(const Engine& engine, const std::vector<TokenizedText>& texts) {
  std::vector<std::vector<float>> vectors;
  for (Result<std::vector<float>>& vector : engine.embed(texts)) vectors.push_back(must(std::move(vector)));
  return vectors;
}

TEST(LastToken, CaseH15ABatchGivesTheVectorsOfTextsAloneWhateverThePaddingSide) {
  std::vector<std::vector<float>> first;
  for (const std::string_view side : {"left", "right"}) {
    const TestFolder folder;
    const Engine engine = load_padding(folder, side);
    ASSERT_EQ(engine.spec().modules.front().pooling.modes, std::vector<Pooling>{Pooling::kLastToken});
    std::vector<TokenizedText> texts;
    for (const int count : {1, 15, 58}) texts.push_back(must(engine.tokenize(words(count))));
    EXPECT_THAT((std::vector<size_t>{texts[0].ids.size(), texts[1].ids.size(), texts[2].ids.size()}),
                testing::ElementsAre(3, 17, 60));
    const std::vector<std::vector<float>> batched = vectors_of(engine, texts);
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(vectors_of(engine, {texts[i]})[0], batched[i]) << side << " " << i;
    if (first.empty()) first = batched;
    EXPECT_EQ(batched, first) << side;
  }
}

}  // namespace
}  // namespace inlay
