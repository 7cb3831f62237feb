// Load on an engine: bare batches, and requests to a server over HTTP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/scheduler.h"
#include "jobs/tune/tune_report.h"
#include "server/engine_service.h"

namespace inlay {

// An engine that was loaded with serving.engine.
struct ServedEngine {
  std::shared_ptr<const Engine> engine;
  ServingOptions serving;
};

// What requests are made of: texts, or ids where there are none.
struct LoadTexts {
  std::vector<std::string> texts;
  std::vector<TokenizedText> tokenized;  // of each text; or made up
  double mean_tokens = 0;
};
Result<LoadTexts> texts_for_load(const Engine& engine, std::vector<std::string> texts);
// Random ids of lengths between 4 and 256 tokens (at most the model's), as many short as long ones.
LoadTexts made_up_texts(const Engine& engine, size_t count, uint64_t seed);

// Runs batches of about `batch_tokens` tokens on every thread of the engine for so many seconds, and at least two on each.
// `stopped` ends early.
Result<BatchPoint> run_batches(const Engine& engine, const LoadTexts& texts, int batch_tokens, double seconds,
                               const std::function<bool()>& stopped);

struct LoadOptions {
  SchedulerOptions scheduler;
  bool is_bulk = false;  // says so; else requests are what a single text is to the server
  int clients = 0;       // either these
  double rate = 0;       // or arrivals a second, exponentially spaced
  double seconds = 1;
  uint64_t seed = 1;
};
// Sends to a server that is started for it, as users do and from the same cores: HTTP and JSON are part of what is measured.
// One request is one text. The first fifth of the time is not counted. Latency runs from when the request was to be sent, so
// that a late sender hides nothing.
Result<LoadPoint> run_load(const ServedEngine& model, const LoadTexts& texts, const LoadOptions& options,
                           const std::function<bool()>& stopped);

}  // namespace inlay
