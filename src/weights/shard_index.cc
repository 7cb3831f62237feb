#include "weights/shard_index.h"

#include <unordered_set>

#include "base/json.h"
#include "weights/safetensors.h"

namespace inlay {
namespace {

// Every shard stays mapped; the kernel's default is 65530 maps for a process.
constexpr size_t kMaxShards = 4096;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

Result<std::string_view> shard_name(const Json& value, std::string_view suffix) {
  const std::string_view name = TRY(value.as_string());
  if (!is_plain_name(name)) {
    return fail(ErrorCode::kCorrupt, "{}: '{}' is no plain file name; shards lie beside their index", value.where(), name);
  }
  if (!name.ends_with(suffix)) {
    return fail(ErrorCode::kUnsupported, "{}: shard '{}' is no {} file", value.where(), name, suffix);
  }
  return name;
}

}  // namespace

Result<ShardIndex> read_shard_index(const std::filesystem::path& path, std::string_view suffix) {
  const JsonDocument document = TRY(JsonDocument::read(path, kMaxSafetensorsHeader));
  const Json weight_map = TRY(document.root().get("weight_map"));
  const simdjson::dom::object object = TRY(weight_map.raw_object());
  ShardIndex index;
  std::unordered_set<std::string_view> seen;
  for (const auto& [tensor, value] : object) {
    if (seen.size() == kMaxSafetensorsTensors) {
      return fail(ErrorCode::kCorrupt, "{}: more than {} tensors", weight_map.where(), kMaxSafetensorsTensors);
    }
    if (!seen.insert(tensor).second) {
      return fail(ErrorCode::kCorrupt, "{}: tensor '{}' is listed twice", weight_map.where(), tensor);
    }
    const std::string_view shard = TRY(shard_name(Json(value, weight_map.where()), suffix));
    index[std::string(shard)].emplace_back(tensor);
    if (index.size() > kMaxShards) return fail(ErrorCode::kCorrupt, "{}: more than {} shards", weight_map.where(), kMaxShards);
  }
  if (index.empty()) return fail(ErrorCode::kCorrupt, "{} names no tensor", weight_map.where());
  return index;
}

}  // namespace inlay
