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

LaneMemory EngineStages::memory() const {
  LaneMemory sum;
  for (const EngineLanePtr& lane : lanes_) sum.add(engine_.lane_memory(*lane));
  return sum;
}

void EngineStages::install(BulkStages& stages) {
  stages.tokenize = [this](const TextRow& row) { return row.ids ? engine_.from_ids(*row.ids) : engine_.tokenize(*row.text); };
  stages.embed = [this](int lane, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status) {
    engine_.embed_batch(*lanes_[static_cast<size_t>(lane)], texts, out, status);
  };
}

}  // namespace inlay
