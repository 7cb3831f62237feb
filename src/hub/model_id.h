// Names of models on a hub: "org/name", "org/name@revision".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inlay {

struct ModelId {
  std::string repository;         // "org/name", or "name" for the first models of the hub
  std::string revision = "main";  // a branch, a tag or a commit
  bool operator==(const ModelId&) const = default;
};

// nullopt for what the hub would not accept as a name, such as a path.
std::optional<ModelId> parse_model_id(std::string_view text);

// Whether a path stays inside of the folder that it is relative to, and is plain enough for every file system.
bool is_safe_path(std::string_view path);

}  // namespace inlay
