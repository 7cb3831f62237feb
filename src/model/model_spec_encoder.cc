// config.json of the encoder. What would silently change the vectors is refused with the name of its key.
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

// The architectures that there is code for; the one place that lists them.
constexpr std::array<std::string_view, 1> kModelTypes = {"bert"};

// Beyond any encoder that exists, and small enough that sizes multiplied with each other stay far from overflow.
constexpr int64_t kMaxHidden = 65536;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxIntermediate = 1 << 20;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxPositions = 1 << 20;
constexpr int64_t kMaxTokenTypes = 1024;
constexpr double kMaxEpsilon = 0.1;

Result<std::vector<std::string>> read_architectures(const Json& config) {
  std::vector<std::string> result;
  const std::optional<Json> list = config.find("architectures");
  if (!list) return result;
  for (const Json& item : TRY(list->items())) result.emplace_back(TRY(item.as_string()));
  return result;
}

// Configs of the first years carry no model_type; the class name says the same.
Result<std::string> read_model_type(const Json& config, const std::vector<std::string>& architectures,
                                    std::vector<std::string>& notes) {
  std::string type = TRY(config.string_or("model_type", ""));
  if (type.empty() && !architectures.empty() && architectures[0].starts_with("Bert")) {
    notes.push_back(fmt::format("config.json has no model_type; taken from architectures: {}", architectures[0]));
    return std::string("bert");
  }
  for (const std::string_view known : kModelTypes) {
    if (type == known) return type;
  }
  return fail(ErrorCode::kUnsupported, "config.json: model_type: found '{}', supported: {}", type, list_text(kModelTypes));
}

Result<> refuse_flag(const Json& config, std::string_view key, std::string_view why) {
  if (!TRY(config.bool_or(key, false))) return {};
  return fail(ErrorCode::kUnsupported, "config.json: {}: true: {}", key, why);
}

bool has_adapters(const Json& config) {
  const std::optional<Json> adapters = config.find("adapters");
  const std::optional<Json> list = adapters ? adapters->find("adapters") : std::nullopt;
  return list && list->is_object() && list->raw_object()->size() > 0;
}

Result<> refuse_what_changes_vectors(const std::filesystem::path& folder, const Json& config) {
  TRY_VOID(refuse_flag(config, "is_decoder", "decoders see only earlier tokens"));
  TRY_VOID(refuse_flag(config, "add_cross_attention", "there is no second input to attend to"));
  TRY_VOID(refuse_flag(config, "is_encoder_decoder", "only encoders embed texts here"));
  if (has_adapters(config)) return fail(ErrorCode::kUnsupported, "config.json: adapters: merge them into the weights first");
  std::error_code ignored;
  if (std::filesystem::exists(folder / "adapter_config.json", ignored)) {
    return fail(ErrorCode::kUnsupported,
                "adapter_config.json: the folder holds an adapter; merge it into its base model first");
  }
  const std::string positions = TRY(config.string_or("position_embedding_type", "absolute"));
  if (positions != "absolute") {
    return fail(ErrorCode::kUnsupported, "config.json: position_embedding_type: found '{}', supported: absolute", positions);
  }
  return {};
}

Result<Activation> read_activation(const Json& config) {
  const std::string name = TRY(config.string_or("hidden_act", "gelu"));
  const std::optional<Activation> activation = activation_from_config(name);
  if (!activation) {
    return fail(
        ErrorCode::kUnsupported,
        "config.json: hidden_act: found '{}', supported: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, quick_gelu, relu, "
        "silu, tanh, sigmoid, linear",
        name);
  }
  return *activation;
}

Result<float> read_epsilon(const Json& config) {
  const double epsilon = TRY(config.double_or("layer_norm_eps", 1e-12));
  if (!(epsilon > 0 && epsilon <= kMaxEpsilon)) {
    return fail(ErrorCode::kCorrupt, "config.json: layer_norm_eps: found {}, wanted more than 0 and at most {}", epsilon,
                kMaxEpsilon);
  }
  return static_cast<float>(epsilon);
}

// Sizes that every weight depends on must be stated; the rest falls back on transformers' defaults for BERT.
Result<> read_sizes(const Json& config, EncoderConfig& encoder) {
  encoder.vocab_size = TRY(int_member(config, "vocab_size", {1, kMaxVocab}, std::nullopt));
  encoder.hidden_size = TRY(int_member(config, "hidden_size", {1, kMaxHidden}, std::nullopt));
  encoder.layers = TRY(int_member(config, "num_hidden_layers", {1, kMaxLayers}, std::nullopt));
  encoder.heads = TRY(int_member(config, "num_attention_heads", {1, kMaxHidden}, std::nullopt));
  encoder.intermediate_size = TRY(int_member(config, "intermediate_size", {1, kMaxIntermediate}, std::nullopt));
  encoder.max_positions = TRY(int_member(config, "max_position_embeddings", {1, kMaxPositions}, 512));
  encoder.token_types = TRY(int_member(config, "type_vocab_size", {1, kMaxTokenTypes}, 2));
  encoder.pad_token_id = TRY(int_member(config, "pad_token_id", {0, encoder.vocab_size - 1}, 0));
  if (encoder.hidden_size % encoder.heads != 0) {
    return fail(ErrorCode::kCorrupt, "config.json: hidden_size {} is no multiple of num_attention_heads {}",
                encoder.hidden_size, encoder.heads);
  }
  return {};
}

}  // namespace

Result<EncoderConfig> read_encoder_config(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const JsonDocument document = TRY(read_config(folder, "config.json"));
  const Json config = document.root();
  if (!config.is_object()) return fail(ErrorCode::kCorrupt, "config.json: wanted an object");
  EncoderConfig encoder;
  encoder.architectures = TRY(read_architectures(config));
  encoder.model_type = TRY(read_model_type(config, encoder.architectures, notes));
  TRY_VOID(refuse_what_changes_vectors(folder, config));
  TRY_VOID(read_sizes(config, encoder));
  encoder.activation = TRY(read_activation(config));
  encoder.layer_norm_eps = TRY(read_epsilon(config));
  if (config.find("auto_map")) notes.push_back("config.json: auto_map names code of the model's authors, which is not run");
  return encoder;
}

}  // namespace inlay
