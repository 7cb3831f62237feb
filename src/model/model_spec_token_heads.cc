// Heads on single tokens that no modules.json describes: bge-m3's files.
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"cls_token", "eos_token", "pad_token", "unk_token"};

std::filesystem::path weights_beside(const std::filesystem::path& folder, std::string_view stem) {
  for (const std::string_view ending : {".safetensors", ".pt"}) {
    const std::filesystem::path path = folder / fmt::format("{}{}", stem, ending);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return {};
}

Result<std::vector<std::string>> special_tokens(const std::filesystem::path& folder) {
  const std::optional<JsonDocument> document = TRY(read_config_if_there(folder, "tokenizer_config.json"));
  std::vector<std::string> tokens;
  for (const std::string_view role : kRoles) {
    if (!document) break;
    std::string token = TRY(token_of_role(document->root(), role));
    if (!token.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

Result<std::string> token_of_role(const Json& config, std::string_view role) {
  const std::optional<Json> value = config.find(role);
  if (!value) return std::string();
  if (value->is_object()) return value->string_or("content", "");
  return std::string(TRY(value->as_string()));
}

Result<> read_bge_m3(ModelSpec& spec) {
  const std::filesystem::path sparse = weights_beside(spec.folder, "sparse_linear");
  const std::filesystem::path colbert = weights_beside(spec.folder, "colbert_linear");
  if (!spec.outputs.has(OutputKind::kVector)) return {};
  if (!sparse.empty()) {
    SparseSpec& head = spec.sparse.emplace();
    head.source = SparseSpec::Source::kTokenWeights;
    head.weights = sparse;
    head.left_out = TRY(special_tokens(spec.folder));
    spec.outputs.add(OutputKind::kSparse);
  }
  if (!colbert.empty()) {
    TokenSpec& head = spec.tokens.emplace();
    head.weights = colbert;
    head.leaves_out_first = true;
    head.modules.emplace_back().kind = ModuleSpec::Kind::kNormalize;
  }
  return {};
}

}  // namespace inlay
