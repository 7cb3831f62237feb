// Downloads models into the cache that huggingface_hub uses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "hub/hub_options.h"
#include "hub/model_id.h"

namespace inlay {

struct PullProgress {
  std::string file;
  uint64_t done = 0;   // bytes of it
  uint64_t total = 0;  // 0 if the server doesn't say
  size_t number = 0;   // of the file, from 1
  size_t files = 0;    // that are wanted
};

struct PullOptions {
  std::function<void(const PullProgress&)> progress = [](const PullProgress&) {};
  std::function<bool()> is_cancelled = [] { return false; };
};

// Brings what loading the model needs into the cache and returns its folder there. Files that are there already are not fetched
// again. Offline, or when the hub can't be reached, the snapshot that is there is taken; kNotFound if there is none.
Result<std::filesystem::path> pull_model(const ModelId& id, const HubOptions& hub, const PullOptions& options);

}  // namespace inlay
