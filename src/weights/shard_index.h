// model.safetensors.index.json, pytorch_model.bin.index.json: which shard holds which tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inlay {

// Shard file name -> the tensors that it holds. Names are plain: a shard always lies beside its index.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

// Shards of other files than `suffix` (".safetensors") are kUnsupported.
Result<ShardIndex> read_shard_index(const std::filesystem::path& path, std::string_view suffix);

}  // namespace inlay
