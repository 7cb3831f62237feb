// An engine as the tokenising and embedding stages of the bulk pipeline.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "jobs/bulk.h"

namespace inlay {

// Owns one lane of memory for each thread of the engine. Must outlive the pipeline that uses it, and the engine it.
class EngineStages {
 public:
  explicit EngineStages(const Engine& engine);

  BulkOptions options() const;
  // Sets `tokenize` and `embed`.
  void install(BulkStages& stages);

 private:
  const Engine& engine_;
  std::vector<EngineLanePtr> lanes_;
};

}  // namespace inlay
