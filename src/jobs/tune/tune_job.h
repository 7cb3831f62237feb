// Finds the settings with which a model serves best on this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/embed_job.h"
#include "jobs/tune/tune_report.h"

namespace inlay {

struct TuneOptions {
  EngineOptions engine;                 // threads: 0 tries several
  double slo_p99 = 0.05;                // seconds
  double seconds = 150;                 // to take about so long; a fiftieth of it for each measurement
  std::vector<std::string> texts = {};  // empty: made-up ids
  int most_batch_tokens = 16384;
  uint64_t seed = 1;
};

// Loads the model once for each count of threads that is tried, one at a time. Progress counts measurements as texts.
Result<TuneReport> run_tune(const TuneOptions& options, const JobHooks& hooks);

}  // namespace inlay
