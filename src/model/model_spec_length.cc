// How many tokens a text may have. Settings come from three files, each of which may be silent.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

// Names that sentence-transformers tries, in its order; it takes the first that exists.
constexpr std::array<const char*, 7> kModuleConfigs = {
    "sentence_bert_config.json",      "sentence_roberta_config.json", "sentence_distilbert_config.json",
    "sentence_camembert_config.json", "sentence_albert_config.json",  "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
};

constexpr std::array<std::string_view, 4> kTasks = {"feature-extraction", "sequence-classification", "fill-mask",
                                                    "text-generation"};

// transformers writes 1e30 for "no limit"; whatever no text can reach is none.
constexpr double kNoLimit = 1e9;

Result<std::optional<int>> read_limit(const Json& object, std::string_view key) {
  const std::optional<Json> value = object.find(key);
  if (!value) return std::nullopt;
  const double limit = TRY(value->as_double());
  if (limit >= kNoLimit) return std::nullopt;
  if (!(limit >= 1) || std::trunc(limit) != limit) {
    return fail(ErrorCode::kCorrupt, "{}: found {}, wanted a number of tokens", value->where(), limit);
  }
  return static_cast<int>(limit);
}

Result<> check_task(const Json& config) {
  const std::string task = TRY(config.string_or("transformer_task", "feature-extraction"));
  for (const std::string_view known : kTasks) {
    if (task == known) return {};
  }
  return fail(ErrorCode::kUnsupported, "{}: transformer_task: found '{}', supported: {}", config.where(), task,
              list_text(kTasks));
}

// Settings of late interaction, which treats queries and documents in their own ways.
Result<> read_late_lengths(const Json& config, ModelSpec& spec) {
  if (spec.tokens) {
    spec.tokens->query_length = TRY(read_limit(config, "query_length"));
    spec.tokens->document_length = TRY(read_limit(config, "document_length"));
  }
  const std::optional<Json> expansion = config.find("query_expansion");
  return expansion ? read_query_expansion(*expansion, spec) : Result<>();
}

Result<std::optional<int>> read_module_config(ModelSpec& spec) {
  for (const char* name : kModuleConfigs) {
    const std::optional<JsonDocument> document = TRY(read_config_if_there(spec.folder, name));
    if (!document) continue;
    const Json config = document->root();
    TRY_VOID(check_task(config));
    TRY_VOID(read_late_lengths(config, spec));
    spec.lower_case_first = TRY(config.bool_or("do_lower_case", false));
    for (const char* arguments : {"processor_kwargs", "tokenizer_args"}) {
      const std::optional<Json> given = config.find(arguments);
      const std::optional<int> limit = given ? TRY(read_limit(*given, "model_max_length")) : std::nullopt;
      if (limit) return limit;
    }
    return read_limit(config, "max_seq_length");
  }
  return std::nullopt;
}

Result<std::optional<int>> read_tokenizer_limit(const std::filesystem::path& folder) {
  const std::optional<JsonDocument> document = TRY(read_config_if_there(folder, "tokenizer_config.json"));
  return document ? read_limit(document->root(), "model_max_length") : std::optional<int>();
}

}  // namespace

Result<> read_max_length(bool has_module_config, ModelSpec& spec) {
  std::optional<int> limit = has_module_config ? TRY(read_module_config(spec)) : std::nullopt;
  if (!limit) limit = TRY(read_tokenizer_limit(spec.folder));
  const int positions = spec.encoder.usable_positions();
  if (limit && *limit > positions) {
    spec.notes.push_back(
        fmt::format("the folder's maximum length {} is cut to the number of positions, {}", *limit, positions));
  }
  spec.max_length = std::min(limit.value_or(positions), positions);
  return {};
}

}  // namespace inlay
