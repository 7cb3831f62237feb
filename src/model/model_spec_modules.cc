// modules.json and the modules that follow the transformer. A module that is not understood is an error: leaving one out gives
// vectors of the right look and the wrong values.
#include <algorithm>
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr size_t kMaxModules = 64;
constexpr int64_t kMaxFeatures = 1 << 20;
constexpr std::string_view kSupportedModules =
    "Pooling, SpladePooling, Dense, Normalize, LayerNorm, Dropout, MultiVectorMask, LogitScore";
constexpr size_t kMaxSkipped = 4096;

// A relative path that stays inside the model's folder; "" is the folder itself.
bool is_inside(std::string_view path) {
  if (path.find('\0') != std::string_view::npos || path.find('\\') != std::string_view::npos) return false;
  const std::filesystem::path parts(path);
  return !parts.is_absolute() &&
         std::none_of(parts.begin(), parts.end(), [](const std::filesystem::path& part) { return part == ".."; });
}

Result<ModuleEntry> read_entry(const Json& item) {
  const Json type_value = TRY(item.get("type"));
  const std::string_view type = TRY(type_value.as_string());
  // A class of the model's authors may share a name with one of the library and do something else.
  if (!type.starts_with("sentence_transformers.")) {
    return fail(ErrorCode::kUnsupported, "{}.type: '{}' is code of the model's authors, which is not run", item.where(), type);
  }
  const std::string path = TRY(item.string_or("path", ""));
  if (!is_inside(path)) return fail(ErrorCode::kCorrupt, "{}.path: '{}' leads out of the model's folder", item.where(), path);
  return ModuleEntry{std::string(type.substr(type.rfind('.') + 1)), path, item.where()};
}

// "2_Dense/config.json"
std::string config_of(const ModuleEntry& entry) { return (std::filesystem::path(entry.folder) / "config.json").string(); }

Result<> check_input(const std::string& where, int64_t found, int wanted) {
  if (found == wanted) return {};
  return fail(ErrorCode::kCorrupt, "{}: found {}, the module before it gives vectors of {}", where, found, wanted);
}

// Whether a module works on the vector of each token (ColBERT) rather than on the pooled one.
Result<bool> works_on_tokens(const Json& config) {
  const std::string input = TRY(config.string_or("module_input_name", "sentence_embedding"));
  const std::string output = TRY(config.string_or("module_output_name", input));
  if (input == output && input == "sentence_embedding") return false;
  if (input == output && input == "token_embeddings") return true;
  return fail(ErrorCode::kUnsupported,
              "{}: module_input_name: found '{}' and module_output_name '{}', supported: sentence_embedding or "
              "token_embeddings, the same for both",
              config.where(), input, output);
}

Result<Activation> read_dense_activation(const Json& config) {
  const std::string name = TRY(config.string_or("activation_function", "torch.nn.modules.activation.Tanh"));
  const std::optional<Activation> activation = activation_from_torch(name);
  if (!activation) {
    return fail(ErrorCode::kUnsupported,
                "{}: activation_function: found '{}', supported: Tanh, Identity, ReLU, GELU, SiLU and Sigmoid of torch.nn",
                config.where(), name);
  }
  return *activation;
}

// `dimensions` are those of the vectors that come in, and afterwards of those that go out.
Result<ModuleSpec> read_dense(const std::filesystem::path& folder, const ModuleEntry& entry, const Json& config,
                              int& dimensions) {
  const std::string name = config_of(entry);
  if (TRY(config.bool_or("use_residual", false))) {
    return fail(ErrorCode::kUnsupported, "{}: use_residual: true is not supported", name);
  }
  ModuleSpec module;
  module.kind = ModuleSpec::Kind::kDense;
  DenseSpec& dense = module.dense;
  dense.folder = folder / entry.folder;
  dense.in_features = TRY(int_member(config, "in_features", {1, kMaxFeatures}, std::nullopt));
  dense.out_features = TRY(int_member(config, "out_features", {1, kMaxFeatures}, std::nullopt));
  TRY_VOID(check_input(name + ": in_features", dense.in_features, dimensions));
  dense.bias = TRY(config.bool_or("bias", true));
  dense.activation = TRY(read_dense_activation(config));
  dimensions = dense.out_features;
  return module;
}

Result<ModuleSpec> read_layer_norm(const std::filesystem::path& folder, const ModuleEntry& entry, const Json& config,
                                   int dimensions) {
  const std::string name = config_of(entry);
  ModuleSpec module;
  module.kind = ModuleSpec::Kind::kLayerNorm;
  module.layer_norm.folder = folder / entry.folder;
  module.layer_norm.dimension = TRY(int_member(config, "dimension", {1, kMaxFeatures}, std::nullopt));
  TRY_VOID(check_input(name + ": dimension", module.layer_norm.dimension, dimensions));
  return module;
}

Result<SparseSpec> read_splade(const std::filesystem::path& folder, const ModuleEntry& entry) {
  const JsonDocument document = TRY(read_config(folder, config_of(entry)));
  const Json config = document.root();
  SparseSpec sparse;
  const std::string strategy = TRY(config.string_or("pooling_strategy", "max"));
  const std::string activation = TRY(config.string_or("activation_function", "relu"));
  if (strategy != "max" && strategy != "sum") {
    return fail(ErrorCode::kUnsupported, "{}: pooling_strategy: found '{}', supported: max, sum", config.where(), strategy);
  }
  if (activation != "relu" && activation != "log1p_relu") {
    return fail(ErrorCode::kUnsupported, "{}: activation_function: found '{}', supported: relu, log1p_relu", config.where(),
                activation);
  }
  sparse.is_sum = strategy == "sum";
  sparse.logs_twice = activation == "log1p_relu";
  return sparse;
}

Result<std::vector<std::string>> read_skipped(const Json& config) {
  std::vector<std::string> skipped;
  if (config.find("keep_only_token_ids")) {
    return fail(ErrorCode::kUnsupported, "{}: keep_only_token_ids is not supported", config.where());
  }
  const std::optional<Json> words = config.find("skiplist_words");
  if (!words) return skipped;
  for (const Json& word : TRY(words->items())) {
    if (skipped.size() == kMaxSkipped) return fail(ErrorCode::kCorrupt, "{}: more than {} words", words->where(), kMaxSkipped);
    skipped.emplace_back(TRY(word.as_string()));
  }
  return skipped;
}

// Which texts lose the skipped tokens: a task or a list of them.
Result<> read_skipping_tasks(const Json& config, TokenSpec& tokens) {
  const std::optional<Json> tasks = config.find("skiplist_tasks");
  if (!tasks) return {};
  tokens.skips_in_documents = false;
  const std::vector<Json> names = tasks->is_array() ? TRY(tasks->items()) : std::vector<Json>{*tasks};
  for (const Json& task : names) {
    const std::string_view name = TRY(task.as_string());
    tokens.skips_in_documents |= name == "document";
    tokens.skips_in_queries |= name == "query";
  }
  return {};
}

// Follows the modules in order; `dimensions` is 0 until there is a vector to work on.
class ModuleReader {
 public:
  ModuleReader(const std::filesystem::path& folder, ModelSpec& spec) : folder_(folder), spec_(spec) {}

  Result<> read(const ModuleEntry& entry) {
    if (entry.kind == "Pooling") return read_pooling_module(entry);
    if (entry.kind == "Dropout") return {};  // does nothing outside of training
    if (entry.kind == "SpladePooling") return read_splade_module(entry);
    if (entry.kind == "MultiVectorMask") return read_mask(entry);
    if (entry.kind == "LogitScore") return read_logit_score(entry);
    if (entry.kind == "Dense" || entry.kind == "Normalize" || entry.kind == "LayerNorm") return read_step(entry);
    return fail(ErrorCode::kUnsupported, "{}.type: found '{}', supported after the Transformer: {}", entry.where, entry.kind,
                kSupportedModules);
  }

 private:
  Result<> read_pooling_module(const ModuleEntry& entry) {
    if (spec_.dimensions != 0) return fail(ErrorCode::kUnsupported, "{}.type: a second Pooling", entry.where);
    if (spec_.tokens || spec_.sparse) {
      return fail(ErrorCode::kUnsupported, "{}.type: Pooling after modules that work on tokens", entry.where);
    }
    ModuleSpec& module = spec_.modules.emplace_back();
    module.pooling = TRY(read_pooling(folder_, config_of(entry), spec_.encoder.hidden_size, spec_.notes));
    spec_.dimensions = spec_.encoder.hidden_size * static_cast<int>(module.pooling.modes.size());
    return {};
  }

  Result<> read_splade_module(const ModuleEntry& entry) {
    if (spec_.dimensions != 0 || spec_.tokens || spec_.sparse) {
      return fail(ErrorCode::kUnsupported, "{}.type: SpladePooling has to follow the Transformer", entry.where);
    }
    spec_.sparse = TRY(read_splade(folder_, entry));
    return {};
  }

  Result<> read_mask(const ModuleEntry& entry) {
    const std::optional<JsonDocument> document = TRY(read_config_if_there(folder_, config_of(entry)));
    if (!spec_.tokens) spec_.tokens.emplace();
    spec_.tokens->has_mask = true;
    if (!document) return {};
    spec_.tokens->skipped = TRY(read_skipped(document->root()));
    return read_skipping_tasks(document->root(), *spec_.tokens);
  }

  Result<> read_logit_score(const ModuleEntry& entry) {
    if (!is_judge(spec_.encoder) || spec_.dimensions != 0) {
      return fail(ErrorCode::kUnsupported, "{}.type: LogitScore is served for Qwen3ForCausalLM only, whose prompt is known",
                  entry.where);
    }
    const JsonDocument document = TRY(read_config(folder_, config_of(entry)));
    const Json config = document.root();
    LogitScoreSpec score;
    const int vocab = spec_.encoder.vocab_size;
    score.true_id = TRY(int_member(config, "true_token_id", {0, vocab - 1}, std::nullopt));
    score.has_false = config.find("false_token_id").has_value();
    if (score.has_false) score.false_id = TRY(int_member(config, "false_token_id", {0, vocab - 1}, std::nullopt));
    spec_.classifier = judge_of(std::move(score));
    return {};
  }

  // A step on the pooled vector, or on the vector of each token.
  Result<> read_step(const ModuleEntry& entry) {
    const std::optional<JsonDocument> document = TRY(read_config_if_there(folder_, config_of(entry)));
    const bool on_tokens = document ? TRY(works_on_tokens(document->root())) : false;
    if (on_tokens && spec_.dimensions != 0) {
      return fail(ErrorCode::kUnsupported, "{}.type: {} works on tokens, but comes after Pooling", entry.where, entry.kind);
    }
    if (!on_tokens && spec_.dimensions == 0) {
      return fail(ErrorCode::kUnsupported, "{}.type: {} comes before Pooling; it needs the pooled vector", entry.where,
                  entry.kind);
    }
    if (on_tokens && !spec_.tokens) spec_.tokens.emplace();
    if (on_tokens && token_dimensions_ == 0) token_dimensions_ = spec_.encoder.hidden_size;
    return add_step(entry, document, on_tokens);
  }

  Result<> add_step(const ModuleEntry& entry, const std::optional<JsonDocument>& document, bool on_tokens) {
    std::vector<ModuleSpec>& modules = on_tokens ? spec_.tokens->modules : spec_.modules;
    int& dimensions = on_tokens ? token_dimensions_ : spec_.dimensions;
    if (entry.kind == "Normalize") {
      modules.emplace_back().kind = ModuleSpec::Kind::kNormalize;
    } else if (!document) {
      return fail(ErrorCode::kNotFound, "{} is missing", config_of(entry));
    } else if (entry.kind == "Dense") {
      modules.push_back(TRY(read_dense(folder_, entry, document->root(), dimensions)));
    } else {
      modules.push_back(TRY(read_layer_norm(folder_, entry, document->root(), dimensions)));
    }
    return {};
  }

  const std::filesystem::path& folder_;
  ModelSpec& spec_;
  int token_dimensions_ = 0;  // 0 until a module works on tokens
};

}  // namespace

Result<std::vector<ModuleEntry>> read_module_list(const Json& root) {
  std::vector<ModuleEntry> entries;
  for (const Json& item : TRY(root.items())) {
    if (entries.size() == kMaxModules) return fail(ErrorCode::kCorrupt, "modules.json: more than {} modules", kMaxModules);
    entries.push_back(TRY(read_entry(item)));
  }
  if (entries.empty()) return fail(ErrorCode::kCorrupt, "modules.json: an empty list");
  if (entries[0].kind != "Transformer" && entries[0].kind != "MLMTransformer") {
    return fail(ErrorCode::kUnsupported, "{}.type: the first module is '{}', supported: Transformer, MLMTransformer",
                entries[0].where, entries[0].kind);
  }
  return entries;
}

Result<> read_modules(const std::filesystem::path& folder, std::span<const ModuleEntry> entries, ModelSpec& spec) {
  ModuleReader reader(folder, spec);
  for (const ModuleEntry& entry : entries) TRY_VOID(reader.read(entry));
  return {};
}

}  // namespace inlay
