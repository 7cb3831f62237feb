// Readers of bytes that strangers write, each to be tried on any bytes at all: by libFuzzer, or by fuzz_driver.cc where there
// is none. tests/fuzz/README.md says how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inlay {

struct FuzzTarget {
  std::string name;
  // Whether the bytes were understood. They may be refused, but nothing else may happen: no fault, no exception, no answer that
  // contradicts itself (INLAY_CHECK says so).
  bool (*read)(std::string_view bytes);
  // Most bytes of memory at a time: so many for each byte of input, and so many besides. What is larger was allocated on the
  // input's word alone.
  uint64_t memory_factor = 100;
  uint64_t memory_besides = 1 << 20;
  // Folders of files to begin with, beside tests/fuzz/seeds/NAME; from the root of the project.
  std::vector<std::string> more_seeds = {};
  int mutations = 20'000;  // that the driver tries
};

const std::vector<FuzzTarget>& fuzz_targets();
// nullptr if there is none.
const FuzzTarget* find_fuzz_target(std::string_view name);

// Those that there are of tests/fuzz/seeds/NAME and more_seeds.
std::vector<std::string> seed_folders(const FuzzTarget& target);

// Runs the target on the bytes and holds it to its memory. Any breach ends the program.
bool run_fuzz_target(const FuzzTarget& target, std::string_view bytes);

// The readers, each in a file of its own.
bool fuzz_http(std::string_view bytes);
bool fuzz_openai(std::string_view bytes);
bool fuzz_tei(std::string_view bytes);
bool fuzz_scores(std::string_view bytes);
bool fuzz_cohere(std::string_view bytes);
bool fuzz_ollama(std::string_view bytes);
bool fuzz_kserve(std::string_view bytes);
bool fuzz_grpc(std::string_view bytes);
bool fuzz_router(std::string_view bytes);
bool fuzz_admin(std::string_view bytes);
bool fuzz_serve_config(std::string_view bytes);
bool fuzz_safetensors(std::string_view bytes);
bool fuzz_onnx(std::string_view bytes);
bool fuzz_gguf(std::string_view bytes);
bool fuzz_torch(std::string_view bytes);
bool fuzz_pickle(std::string_view bytes);
bool fuzz_tokenizer_json(std::string_view bytes);
bool fuzz_sentencepiece(std::string_view bytes);
bool fuzz_vocab_files(std::string_view bytes);
bool fuzz_model_config(std::string_view bytes);
bool fuzz_model_folder(std::string_view bytes);
bool fuzz_text_rows(std::string_view bytes);

}  // namespace inlay
