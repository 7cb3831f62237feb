// An engine with its scheduler, as a service of the server.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/scheduler.h"
#include "server/core_share.h"
#include "server/embed_service.h"

namespace inlay {

// The options with which a server loads a model: without the Normalize module at the end, and without a cut, since both are for
// each request to say. `folder_normalizes` tells what was left out.
struct ServingOptions {
  EngineOptions engine;
  std::optional<int> dimensions;  // what requests get that give no number of their own, and the most they may ask for
  bool folder_normalizes = false;
  bool raw_available = true;
};
Result<ServingOptions> options_for_serving(EngineOptions options);

// Everything but submit() and drain(), which depend on who runs the batches.
class EngineService : public EmbedService {
 public:
  // `name` is what clients call the model; the engine was loaded with options.engine.
  EngineService(std::shared_ptr<const Engine> engine, std::string name, const ServingOptions& options,
                const SchedulerOptions& limits);

  const ModelFacts& facts() const override { return facts_; }
  Result<TokenizedText> tokenize(std::string_view text, const TextOptions& options) const override;
  Result<TokenizedText> tokenize_pair(std::string_view first, std::string_view second,
                                      const TextOptions& options) const override;
  Result<TokenizedText> from_ids(std::span<const int64_t> ids) const override { return engine_->from_ids(ids); }
  Result<std::vector<TokenPiece>> pieces(std::string_view text, bool add_special_tokens) const override;
  Result<std::string> decode(std::span<const int64_t> ids, bool skip_special_tokens) const override;

 protected:
  const Engine& engine() const { return *engine_; }

 private:
  std::shared_ptr<const Engine> engine_;
  ModelFacts facts_;
};

// What a model gets of the cores. They outlive it.
struct CorePart {
  CoreShare& cores;
  double weight = 1;
};

// Starts a scheduler for an engine that was loaded with options.engine.
std::unique_ptr<EmbedService> make_service(std::shared_ptr<const Engine> engine, const std::string& name,
                                           const ServingOptions& options, const SchedulerOptions& limits, const CorePart& part);
// Loads a model for it.
Result<std::unique_ptr<EmbedService>> load_service(const EngineOptions& options, const std::string& name,
                                                   const SchedulerOptions& limits, const CorePart& part);

}  // namespace inlay
