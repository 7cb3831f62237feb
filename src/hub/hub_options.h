// Where models are downloaded from and kept: the environment variables of huggingface_hub, with their meaning there.
#pragma once

#include <filesystem>
#include <string>

namespace inlay {

struct HubOptions {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a slash at its end
  std::string token = {};                           // HF_TOKEN, or the file that `hf auth login` writes; empty: none
  std::filesystem::path cache = {};                 // HF_HUB_CACHE, or HF_HOME/hub, or ~/.cache/huggingface/hub
  bool offline = false;                             // HF_HUB_OFFLINE
};

HubOptions hub_options_from_environment();

// The folder for what Inlay itself keeps: $XDG_CACHE_HOME/inlay or ~/.cache/inlay.
std::filesystem::path inlay_cache_folder();

}  // namespace inlay
