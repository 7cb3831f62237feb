// One model over the texts of a report: its vectors, its speed and its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/embed_job.h"

namespace inlay {

// `text` must outlive the run.
struct PromptedText {
  std::string_view text;
  std::optional<std::string> prompt = {};  // instead of the engine's
};

struct ModelFigures {
  std::string folder;
  std::string dtype;
  std::string isa;
  int threads = 0;
  int dimensions = 0;
  uint64_t file_bytes = 0;    // of all tensors in the folder
  uint64_t weight_bytes = 0;  // of packed weights and tables in memory
  uint64_t memory_bytes = 0;  // weights, tokenizer and what the lanes touched
  double load_seconds = 0;
  double seconds = 0;  // tokenising and embedding all texts
  uint64_t tokens = 0;
  double texts_per_second = 0;
  double tokens_per_second = 0;
  double single_p50_seconds = 0;  // of one text alone, from its characters to its vector
};

// Texts whose vectors were computed both alone and in a batch, and those of them whose bits differed.
struct BitIdentity {
  uint64_t texts = 0;
  uint64_t different = 0;
};

struct ModelRun {
  ModelFigures figures;
  std::vector<float> vectors;        // [texts, dimensions]; zeros where a text failed
  std::vector<int> tokens;           // of each text
  std::vector<uint8_t> failed;       // of each text
  std::optional<std::string> fault;  // why the first of them failed
  BitIdentity bits;

  std::span<const float> vector(size_t text) const {
    const size_t columns = static_cast<size_t>(figures.dimensions);
    return std::span<const float>(vectors).subspan(text * columns, columns);
  }
};

// Loads the model, runs all texts over all its threads, then some alone, and frees it. The vectors of all texts are what stays.
// Progress counts this model's texts only.
Result<ModelRun> run_model(const EngineOptions& options, std::span<const PromptedText> texts, const JobHooks& hooks);

}  // namespace inlay
