#include "jobs/engine_stages.h"

namespace inlay {

EngineStages::EngineStages(const Engine& engine) : engine_(engine) {
  for (int lane = 0; lane < engine.threads(); ++lane) lanes_.push_back(engine.make_lane());
}

BulkOptions EngineStages::options() const {
  BulkOptions options;
  options.lanes = static_cast<int>(lanes_.size());
  options.dimensions = engine_.dimensions();
  options.max_batch_tokens = engine_.max_batch_tokens();
  return options;
}

void EngineStages::install(BulkStages& stages) {
  stages.tokenize = [this](std::string_view text) { return engine_.tokenize(text); };
  stages.embed = [this](int lane, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status) {
    engine_.embed_batch(*lanes_[static_cast<size_t>(lane)], texts, out, status);
  };
}

}  // namespace inlay
