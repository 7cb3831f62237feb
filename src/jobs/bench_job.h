// Measures how fast a model embeds texts, beside what the machine can reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/embed_job.h"
#include "jobs/text_reader.h"

namespace inlay {

struct BenchReport {
  uint64_t texts = 0;
  uint64_t tokens = 0;
  uint64_t truncated = 0;
  std::vector<double> seconds;  // of each round: tokenising and embedding, as the bulk job does it, writing nothing
  double tokenize_seconds = 0;  // of tokenising all texts once on one thread
  double flop = 0;              // of one round: linear layers and attention
  double peak = 0;              // operations a second that a register loop reaches in this run
  double batch_fill = 0;        // tokens of a batch on average, as a share of the most it may hold
  uint64_t peak_resident_bytes = 0;

  double best_seconds() const;
  double median_seconds() const;
};

// Reads every row first, so that files don't count; rows without a usable text are an error.
Result<std::vector<std::string>> read_all_texts(TextReader& reader);

// Round 0 warms up and is not reported.
Result<BenchReport> run_bench(const Engine& engine, const std::vector<std::string>& texts, int rounds, const JobHooks& hooks);

}  // namespace inlay
