// modules.json and the modules that follow the transformer. A module that is not understood is an error: leaving one out gives
// vectors of the right look and the wrong values.
#include <algorithm>
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr size_t kMaxModules = 64;
constexpr int64_t kMaxFeatures = 1 << 20;
constexpr std::string_view kSupported = "Pooling, Dense, Normalize, LayerNorm, Dropout";

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

// Dense may read and write other features than the pooled vector (ColBERT's token vectors); that is another pipeline.
Result<> check_feature(const Json& config, std::string_view key) {
  const std::string name = TRY(config.string_or(key, "sentence_embedding"));
  if (name == "sentence_embedding") return {};
  return fail(ErrorCode::kUnsupported, "{}: {}: found '{}', supported: sentence_embedding", config.where(), key, name);
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

Result<ModuleSpec> read_dense(const std::filesystem::path& folder, const ModuleEntry& entry, int& dimensions) {
  const std::string name = config_of(entry);
  const JsonDocument document = TRY(read_config(folder, name));
  const Json config = document.root();
  TRY_VOID(check_feature(config, "module_input_name"));
  TRY_VOID(check_feature(config, "module_output_name"));
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

Result<ModuleSpec> read_layer_norm(const std::filesystem::path& folder, const ModuleEntry& entry, int dimensions) {
  const std::string name = config_of(entry);
  const JsonDocument document = TRY(read_config(folder, name));
  ModuleSpec module;
  module.kind = ModuleSpec::Kind::kLayerNorm;
  module.layer_norm.folder = folder / entry.folder;
  module.layer_norm.dimension = TRY(int_member(document.root(), "dimension", {1, kMaxFeatures}, std::nullopt));
  TRY_VOID(check_input(name + ": dimension", module.layer_norm.dimension, dimensions));
  return module;
}

// Follows the modules in order; `dimensions` is 0 until there is a vector to work on.
class ModuleReader {
 public:
  ModuleReader(const std::filesystem::path& folder, ModelSpec& spec) : folder_(folder), spec_(spec) {}

  Result<> read(const ModuleEntry& entry) {
    if (entry.kind == "Pooling") return read_pooling_module(entry);
    if (entry.kind == "Dropout") return {};  // does nothing outside of training
    if (entry.kind != "Dense" && entry.kind != "Normalize" && entry.kind != "LayerNorm") {
      return fail(ErrorCode::kUnsupported, "{}.type: found '{}', supported after the Transformer: {}", entry.where, entry.kind,
                  kSupported);
    }
    if (spec_.dimensions == 0) {
      return fail(ErrorCode::kUnsupported, "{}.type: {} comes before Pooling; it needs the pooled vector", entry.where,
                  entry.kind);
    }
    if (entry.kind == "Dense") {
      spec_.modules.push_back(TRY(read_dense(folder_, entry, spec_.dimensions)));
    } else if (entry.kind == "LayerNorm") {
      spec_.modules.push_back(TRY(read_layer_norm(folder_, entry, spec_.dimensions)));
    } else {
      spec_.modules.emplace_back().kind = ModuleSpec::Kind::kNormalize;
    }
    return {};
  }

 private:
  Result<> read_pooling_module(const ModuleEntry& entry) {
    if (spec_.dimensions != 0) return fail(ErrorCode::kUnsupported, "{}.type: a second Pooling", entry.where);
    ModuleSpec& module = spec_.modules.emplace_back();
    module.pooling = TRY(read_pooling(folder_, config_of(entry), spec_.encoder.hidden_size, spec_.notes));
    spec_.dimensions = spec_.encoder.hidden_size * static_cast<int>(module.pooling.modes.size());
    return {};
  }

  const std::filesystem::path& folder_;
  ModelSpec& spec_;
};

}  // namespace

Result<std::vector<ModuleEntry>> read_module_list(const Json& root) {
  std::vector<ModuleEntry> entries;
  for (const Json& item : TRY(root.items())) {
    if (entries.size() == kMaxModules) return fail(ErrorCode::kCorrupt, "modules.json: more than {} modules", kMaxModules);
    entries.push_back(TRY(read_entry(item)));
  }
  if (entries.empty()) return fail(ErrorCode::kCorrupt, "modules.json: an empty list");
  if (entries[0].kind != "Transformer") {
    return fail(ErrorCode::kUnsupported, "{}.type: the first module is '{}', supported: Transformer", entries[0].where,
                entries[0].kind);
  }
  return entries;
}

Result<> read_modules(const std::filesystem::path& folder, std::span<const ModuleEntry> entries, ModelSpec& spec) {
  ModuleReader reader(folder, spec);
  for (const ModuleEntry& entry : entries) TRY_VOID(reader.read(entry));
  if (spec.dimensions == 0)
    return fail(ErrorCode::kUnsupported, "modules.json: no Pooling module; token vectors alone are not served");
  return {};
}

}  // namespace inlay
