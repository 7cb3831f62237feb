#include "model/model_spec.h"

#include "base/file.h"
#include "model/model_spec_parts.h"

namespace inlay {
namespace {

bool has_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// What sentence-transformers makes of a plain transformers folder. A 1_Pooling folder without modules.json counts for nothing
// there, and so it does here.
void note_default_modules(const std::filesystem::path& folder, ModelSpec& spec) {
  spec.notes.push_back("no modules.json: mean pooling and no normalisation, as sentence-transformers does");
  if (has_file(folder / "1_Pooling")) spec.notes.push_back("1_Pooling is ignored, since there is no modules.json to name it");
}

// What a folder gives that has no modules which make a vector.
Result<> take_heads(const std::filesystem::path& folder, bool has_modules, ModelSpec& spec) {
  spec.modules.emplace_back().pooling.modes = {Pooling::kMean};
  spec.dimensions = spec.encoder.hidden_size;
  if (spec.classifier) {
    spec.outputs = {OutputKind::kScores, OutputKind::kTokens};
  } else if (spec.sparse) {
    spec.outputs = {OutputKind::kSparse, OutputKind::kTokens};
  } else if (spec.tokens || (!has_modules && is_colbert(spec.encoder))) {
    if (!spec.tokens) TRY_VOID(read_colbert(spec));
    spec.outputs = {OutputKind::kTokens};
  } else if (is_classifier(spec.encoder)) {
    spec.classifier = TRY(read_classifier(folder, spec.folder));
    spec.outputs = {OutputKind::kScores, OutputKind::kTokens};
  } else if (has_modules) {
    return fail(ErrorCode::kUnsupported, "modules.json: no Pooling module, and config.json names no class for classification");
  } else {
    note_default_modules(folder, spec);
    if (is_judge(spec.encoder)) {
      spec.classifier = judge_of({});
      spec.outputs.add(OutputKind::kScores);
    }
  }
  return {};
}

}  // namespace

Result<JsonDocument> read_config(const std::filesystem::path& folder, const std::string& relative) {
  const std::string text = TRY(read_file(folder / relative, kMaxConfigBytes));
  return JsonDocument::parse(text, relative);
}

Result<std::optional<JsonDocument>> read_config_if_there(const std::filesystem::path& folder, const std::string& relative) {
  Result<JsonDocument> document = read_config(folder, relative);
  if (document) return std::optional<JsonDocument>(*std::move(document));
  if (document.error().code == ErrorCode::kNotFound) return std::optional<JsonDocument>();
  return tl::unexpected<Error>(std::move(document).error());
}

Result<int> int_member(const Json& object, std::string_view key, std::pair<int64_t, int64_t> bounds,
                       std::optional<int> fallback) {
  if (fallback && !object.find(key)) return *fallback;
  const Json value = TRY(object.get(key));
  return static_cast<int>(TRY(value.as_int_in(bounds.first, bounds.second)));
}

Result<ModelSpec> read_model_spec(const std::filesystem::path& folder) {
  ModelSpec spec;
  spec.folder = folder;
  const std::optional<JsonDocument> document = TRY(read_config_if_there(folder, "modules.json"));
  std::vector<ModuleEntry> entries;
  if (document) {
    entries = TRY(read_module_list(document->root()));
    if (!entries[0].folder.empty()) spec.folder = folder / entries[0].folder;
  }
  spec.encoder = TRY(read_encoder_config(spec.folder, spec.notes));
  if (document) TRY_VOID(read_modules(folder, std::span<const ModuleEntry>(entries).subspan(1), spec));
  if (spec.dimensions == 0) TRY_VOID(take_heads(folder, document.has_value(), spec));
  TRY_VOID(read_bge_m3(spec));
  TRY_VOID(read_max_length(document.has_value(), spec));
  TRY_VOID(read_service_config(folder, spec));
  return spec;
}

}  // namespace inlay
