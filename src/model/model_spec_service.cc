// config_sentence_transformers.json: what callers of the model see, and no layer of it.
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr std::array<std::string_view, 4> kModelKinds = {"SentenceTransformer", "CrossEncoder", "SparseEncoder",
                                                         "MultiVectorEncoder"};
constexpr std::array<std::string_view, 6> kSimilarities = {"cosine", "dot", "euclidean", "manhattan", "maxsim", "meanmaxsim"};

Result<std::string> read_similarity(const Json& config) {
  const std::string name = TRY(config.string_or("similarity_fn_name", "cosine"));
  if (name == "dot_product") return std::string("dot");
  for (const std::string_view known : kSimilarities) {
    if (name == known) return name;
  }
  return fail(ErrorCode::kUnsupported, "{}: similarity_fn_name: found '{}', supported: {}", config.where(), name,
              list_text(kSimilarities));
}

Result<> check_model_type(const Json& config) {
  const std::string type = TRY(config.string_or("model_type", "SentenceTransformer"));
  for (const std::string_view known : kModelKinds) {
    if (type == known) return {};
  }
  return fail(ErrorCode::kUnsupported, "{}: model_type: found '{}', supported: {}", config.where(), type,
              list_text(kModelKinds));
}

Result<> read_prompts(const Json& config, ModelSpec& spec) {
  if (const std::optional<Json> prompts = config.find("prompts")) {
    for (const auto& [name, prompt] : TRY(prompts->members())) spec.prompts[std::string(name)] = TRY(prompt.as_string());
  }
  const std::string name = TRY(config.string_or("default_prompt_name", ""));
  if (name.empty()) return {};
  if (!spec.prompts.contains(name)) {
    return fail(ErrorCode::kCorrupt, "{}: default_prompt_name: '{}' is not among the prompts", config.where(), name);
  }
  spec.default_prompt_name = name;
  return {};
}

}  // namespace

Result<> read_service_config(const std::filesystem::path& folder, ModelSpec& spec) {
  const std::optional<JsonDocument> document = TRY(read_config_if_there(folder, "config_sentence_transformers.json"));
  if (!document) return {};
  const Json config = document->root();
  TRY_VOID(check_model_type(config));
  spec.similarity = TRY(read_similarity(config));
  return read_prompts(config, spec);
}

}  // namespace inlay
