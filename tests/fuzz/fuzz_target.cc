#include "fuzz_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/check.h"
#include "memory_watch.h"

namespace inlay {

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = {
      {.name = "http", .read = fuzz_http},
      {.name = "openai", .read = fuzz_openai},
      {.name = "tei", .read = fuzz_tei},
      {.name = "scores", .read = fuzz_scores},
      {.name = "cohere", .read = fuzz_cohere},
      {.name = "ollama", .read = fuzz_ollama},
      {.name = "kserve", .read = fuzz_kserve},
#ifdef INLAY_FUZZ_GRPC
      {.name = "grpc", .read = fuzz_grpc},
#endif
      {.name = "router", .read = fuzz_router},
      {.name = "admin", .read = fuzz_admin, .mutations = 2'000},
      {.name = "serve_config", .read = fuzz_serve_config, .mutations = 2'000},
      {.name = "safetensors", .read = fuzz_safetensors, .mutations = 100'000},
      {.name = "onnx", .read = fuzz_onnx, .memory_factor = 200, .more_seeds = {"tests/data/weights/bert-cls-onnx/external"}},
      {.name = "gguf",
       .read = fuzz_gguf,
       .memory_factor = 200,
       .more_seeds = {"tests/data/weights/gguf", "tests/data/weights/bert-cls-gguf"}},
      {.name = "torch", .read = fuzz_torch, .more_seeds = {"tests/data/weights/torch"}},
      {.name = "pickle", .read = fuzz_pickle, .memory_factor = 200},
      {.name = "tokenizer_json",
       .read = fuzz_tokenizer_json,
       .memory_factor = 1'000,
       .memory_besides = 16 << 20,
       .mutations = 8'000},
      {.name = "sentencepiece",
       .read = fuzz_sentencepiece,
       .memory_factor = 1'000,
       .memory_besides = 16 << 20,
       .more_seeds = {"tests/data/tokenizers/xlmr-files", "tests/data/tokenizers/llama-files"},
       .mutations = 4'000},
      {.name = "vocab_files", .read = fuzz_vocab_files, .memory_factor = 1'000, .memory_besides = 16 << 20},
      {.name = "model_config", .read = fuzz_model_config, .memory_factor = 1'000},
      {.name = "model_folder",
       .read = fuzz_model_folder,
       .memory_factor = 1'000,
       .memory_besides = 16 << 20,
       .mutations = 1'500},
      {.name = "text_rows", .read = fuzz_text_rows},
  };
  return targets;
}

const FuzzTarget* find_fuzz_target(std::string_view name) {
  for (const FuzzTarget& target : fuzz_targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

std::vector<std::string> seed_folders(const FuzzTarget& target) {
  std::vector<std::string> folders = target.more_seeds;
  folders.insert(folders.begin(), "tests/fuzz/seeds/" + target.name);
  std::erase_if(folders, [](const std::string& folder) { return !std::filesystem::is_directory(folder); });
  return folders;
}

bool run_fuzz_target(const FuzzTarget& target, std::string_view bytes) {
  const int64_t before = begin_memory_watch();
  const bool understood = target.read(bytes);
  const uint64_t most = static_cast<uint64_t>(std::max<int64_t>(0, most_memory() - before));
  const uint64_t limit = target.memory_besides + target.memory_factor * bytes.size();
  if (most > limit) {
    std::fputs(
        fmt::format("{}: {} bytes made it take {} bytes of memory, allowed are {}\n", target.name, bytes.size(), most, limit)
            .c_str(),
        stderr);
  }
  INLAY_CHECK(most <= limit, "memory grows with the input's size, not with what the input claims");
  return understood;
}

}  // namespace inlay
