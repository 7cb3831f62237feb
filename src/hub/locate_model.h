// Finds the folder of a model by what a user gives for one.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "hub/pull.h"

namespace inlay {

// `model` is a folder, a .gguf file, or the name of a model on the hub ("org/name", "org/name@revision"), which is fetched if
// need be; a folder that is there wins over a name. What a GGUF file says is laid out as a folder in Inlay's cache, with a link
// to it. Anything else is kNotFound.
Result<std::filesystem::path> locate_model(const std::string& model, const HubOptions& hub, const PullOptions& options);

}  // namespace inlay
