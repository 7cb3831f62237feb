// The models that `inlay serve` begins with, and how it loads one: --model, --served-model-name and --model-weight.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "server/core_share.h"
#include "server/engine_service.h"
#include "server/server.h"

namespace inlay {

class ServedModelFlags {
 public:
  // `flags` say how every model is loaded; their own --model is replaced by one that may be repeated.
  void add_to(CLI::App& app, ModelFlags& flags);

  // The models in their order, loaded. `cores` outlives them.
  Result<ServedModels> load(const ModelFlags& flags, const SchedulerOptions& limits, CoreShare& cores,
                            const Interrupt& interrupt) const;
  // For models that come later. Knows the folders of those that were there at the start. What it is given outlives it.
  ModelLoader loader(const ModelFlags& flags, const SchedulerOptions& limits, CoreShare& cores) const;

 private:
  Result<std::vector<LoadRequest>> requests() const;

  std::vector<std::string> models_;
  std::vector<std::string> weights_;
  std::string name_;
};

}  // namespace inlay
