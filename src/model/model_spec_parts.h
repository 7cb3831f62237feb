// What the files that read a ModelSpec share. Not for other code.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/model_spec.h"

namespace inlay {

// A config file is small; id2label maps and added-token lists make some a few megabytes.
constexpr uint64_t kMaxConfigBytes = 64 << 20;

// Reads `relative` inside `folder`; errors name the file as `relative`. A missing file is kNotFound.
Result<JsonDocument> read_config(const std::filesystem::path& folder, const std::string& relative);
// The same, but a missing file is nullopt.
Result<std::optional<JsonDocument>> read_config_if_there(const std::filesystem::path& folder, const std::string& relative);

// A member that is an integer in [low, high]; missing or null gives `fallback`, or an error without one.
Result<int> int_member(const Json& object, std::string_view key, std::pair<int64_t, int64_t> bounds,
                       std::optional<int> fallback);

// "a, b, c"
std::string list_text(std::span<const std::string_view> names);

// config.json of the folder.
Result<EncoderConfig> read_encoder_config(const std::filesystem::path& folder, std::vector<std::string>& notes);
// Whether config.json names a class for sequence classification, and what such a folder says about its scores.
bool is_classifier(const EncoderConfig& encoder);
Result<ClassifierSpec> read_classifier(const std::filesystem::path& folder, const std::filesystem::path& encoder_folder);
// Whether the folder is a language model that can judge texts in the way of Qwen3's rerankers, and what it gives then.
bool is_judge(const EncoderConfig& encoder);
ClassifierSpec judge_of(LogitScoreSpec score);
// Whether config.json names ColBERT's own checkpoints, and what such a folder says besides.
bool is_colbert(const EncoderConfig& encoder);
Result<> read_colbert(ModelSpec& spec);
// query_expansion of sentence_bert_config.json.
Result<> read_query_expansion(const Json& expansion, ModelSpec& spec);
// A token of tokenizer_config.json ("mask_token"): its text, or an object that holds it; "" if it is missing.
Result<std::string> token_of_role(const Json& config, std::string_view role);
// The heads that lie beside the weights of bge-m3; nothing for other folders.
Result<> read_bge_m3(ModelSpec& spec);
// A name that transformers knows (config.hidden_act), or the last part of a torch class ("torch.nn...Tanh").
std::optional<Activation> activation_from_config(std::string_view name);
std::optional<Activation> activation_from_torch(std::string_view dotted);

// A Pooling module's config.json, in the schema of boolean flags or in the newer one.
Result<PoolingSpec> read_pooling(const std::filesystem::path& folder, const std::string& relative, int hidden_size,
                                 std::vector<std::string>& notes);

// One entry of modules.json.
struct ModuleEntry {
  std::string kind;    // last component of the type: "Pooling"
  std::string folder;  // relative to the model, checked to stay inside; "" is the model's own folder
  std::string where;   // for messages
};
Result<std::vector<ModuleEntry>> read_module_list(const Json& root);
// Reads the modules after the transformer and follows the size of the vectors from `spec.encoder.hidden_size` to
// `spec.dimensions`.
Result<> read_modules(const std::filesystem::path& folder, std::span<const ModuleEntry> entries, ModelSpec& spec);

// The longest text in tokens: the transformer module's own setting, else the tokenizer's, never more than there are positions.
Result<> read_max_length(bool has_module_config, ModelSpec& spec);
// Prompts and similarity of config_sentence_transformers.json.
Result<> read_service_config(const std::filesystem::path& folder, ModelSpec& spec);

}  // namespace inlay
