// The Pooling module's config.json. Old folders have a flag per mode, newer ones `pooling_mode`; where both are, the newer
// wins.
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr std::string_view kSupportedPoolings = "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken";
constexpr std::string_view kFlagPrefix = "pooling_mode_";
constexpr size_t kMaxModes = 16;

struct Flag {
  std::string_view key;
  Pooling mode;
};
// In the order in which sentence-transformers concatenates them, whatever the order in the file.
constexpr std::array<Flag, 6> kFlags = {{
    {"pooling_mode_cls_token", Pooling::kCls},
    {"pooling_mode_max_tokens", Pooling::kMax},
    {"pooling_mode_mean_tokens", Pooling::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", Pooling::kMeanSqrtLen},
    {"pooling_mode_weightedmean_tokens", Pooling::kWeightedMean},
    {"pooling_mode_lasttoken", Pooling::kLastToken},
}};

bool is_known_flag(std::string_view key) {
  for (const Flag& flag : kFlags) {
    if (flag.key == key) return true;
  }
  return false;
}

Result<Pooling> read_mode(const Json& value) {
  const std::string_view name = TRY(value.as_string());
  const std::optional<Pooling> mode = pooling_from_name(name);
  if (!mode) return fail(ErrorCode::kUnsupported, "{}: found '{}', supported: {}", value.where(), name, kSupportedPoolings);
  return *mode;
}

Result<std::vector<Pooling>> modes_by_name(const Json& value) {
  if (!value.is_array()) return std::vector<Pooling>{TRY(read_mode(value))};
  std::vector<Pooling> modes;
  for (const Json& item : TRY(value.items())) {
    if (modes.size() == kMaxModes) return fail(ErrorCode::kCorrupt, "{}: more than {} modes", value.where(), kMaxModes);
    modes.push_back(TRY(read_mode(item)));
  }
  if (modes.empty()) return fail(ErrorCode::kCorrupt, "{}: an empty list", value.where());
  return modes;
}

Result<std::vector<Pooling>> modes_by_flags(const Json& config) {
  for (const auto& [key, value] : TRY(config.members())) {
    if (!key.starts_with(kFlagPrefix) || is_known_flag(key) || value.is_null() || !TRY(value.as_bool())) continue;
    return fail(ErrorCode::kUnsupported, "{}: an unknown pooling mode; supported: {}", value.where(), kSupportedPoolings);
  }
  std::vector<Pooling> modes;
  for (const Flag& flag : kFlags) {
    if (TRY(config.bool_or(flag.key, false))) modes.push_back(flag.mode);
  }
  return modes;
}

Result<> check_dimension(const Json& config, int hidden_size) {
  // Where a folder carries both names, sentence-transformers wants one; we check each that is there.
  bool is_stated = false;
  for (const std::string_view key : {"embedding_dimension", "word_embedding_dimension"}) {
    const std::optional<Json> value = config.find(key);
    if (!value) continue;
    is_stated = true;
    const int64_t dimension = TRY(value->as_int());
    if (dimension != hidden_size) {
      return fail(ErrorCode::kCorrupt, "{}: found {}, the encoder gives vectors of {}", value->where(), dimension, hidden_size);
    }
  }
  if (!is_stated)
    return fail(ErrorCode::kCorrupt, "{}: neither embedding_dimension nor word_embedding_dimension", config.where());
  return {};
}

}  // namespace

Result<PoolingSpec> read_pooling(const std::filesystem::path& folder, const std::string& relative, int hidden_size,
                                 std::vector<std::string>& notes) {
  const JsonDocument document = TRY(read_config(folder, relative));
  const Json config = document.root();
  TRY_VOID(check_dimension(config, hidden_size));
  PoolingSpec pooling;
  const std::optional<Json> named = config.find("pooling_mode");
  pooling.modes = named ? TRY(modes_by_name(*named)) : TRY(modes_by_flags(config));
  if (pooling.modes.empty()) {
    notes.push_back(fmt::format("{} chooses no pooling mode: mean, as sentence-transformers does", relative));
    pooling.modes.push_back(Pooling::kMean);
  }
  pooling.include_prompt = TRY(config.bool_or("include_prompt", true));
  return pooling;
}

}  // namespace inlay
