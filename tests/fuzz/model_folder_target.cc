// A whole model: the folder is loaded and texts are embedded, so that what one file says meets what the others say. The input
// holds the files as fuzz_folder.h has them.
#include <cmath>

#include "base/check.h"
#include "engine/engine.h"
#include "fuzz_folder.h"
#include "fuzz_target.h"

namespace inlay {
namespace {

constexpr std::string_view kText = "ab 12-\u4e2d a<unk>";

void embed(const Engine& engine, const Result<TokenizedText>& text) {
  if (!text) {
    INLAY_CHECK(!text.error().message.empty(), "an error says what is wrong");
    return;
  }
  const std::vector<Result<TextOutput>> outputs = engine.run({&*text, 1});
  INLAY_CHECK(outputs.size() == 1, "each text has its result");
  if (!outputs[0]) return;
  for (const std::vector<float>& numbers : {outputs[0]->vector, outputs[0]->scores}) {
    for (const float number : numbers) INLAY_CHECK(std::isfinite(number), "what is not finite is an error");
  }
  if (!outputs[0]->vector.empty()) {
    INLAY_CHECK(outputs[0]->vector.size() == static_cast<size_t>(engine.dimensions()), "a vector has its dimensions");
  }
}

}  // namespace

bool fuzz_model_folder(std::string_view bytes) {
  static FuzzFolder folder;
  folder.fill(bytes, {"config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json",
                      "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json", "model.safetensors"});
  const Result<Engine> engine = Engine::load({.model = folder.path(), .threads = 1});
  if (!engine) {
    INLAY_CHECK(!engine.error().message.empty(), "an error says what is wrong");
    return false;
  }
  embed(*engine, engine->tokenize(kText));
  embed(*engine, engine->tokenize_pair(kText, "a", {}));
  return true;
}

}  // namespace inlay
