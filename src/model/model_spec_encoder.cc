// config.json of the encoder. What would silently change the vectors is refused with the name of its key.
#include <array>

#include "model/architectures.h"
#include "model/config_fields.h"
#include "model/model_spec_parts.h"

namespace inlay {
namespace {

// The families that there is code for; the one place that lists them. Where a family spells a key in its own way, or takes
// another default, it says so here.
struct Family {
  std::string_view model_type;
  SizeKeys keys = {};
  std::string_view activation = "hidden_act";
  std::string_view default_activation = "gelu";
  int default_pad = 0;
  bool counts_from_pad = false;            // positions begin after the padding token's id
  bool has_token_types = true;             // a table of them
  std::optional<float> epsilon = {};       // where it is part of the code
  std::optional<int> embedding_size = {};  // the default, where tables have a width of their own
};

constexpr std::array<Family, 7> kFamilies = {{
    {.model_type = "bert"},
    {.model_type = "roberta", .default_pad = 1, .counts_from_pad = true},
    {.model_type = "xlm-roberta", .default_pad = 1, .counts_from_pad = true},
    {.model_type = "camembert", .default_pad = 1, .counts_from_pad = true},
    {.model_type = "distilbert",
     .keys = {.hidden = "dim", .layers = "n_layers", .heads = "n_heads", .intermediate = "hidden_dim"},
     .activation = "activation",
     .has_token_types = false,
     .epsilon = 1e-12F},
    {.model_type = "electra", .embedding_size = 128},
    {.model_type = "albert", .default_activation = "gelu_new", .embedding_size = 128},
}};

std::string known_families() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.model_type);
  return list_text(names);
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

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
  if (find_family(type) != nullptr) return type;
  return fail(ErrorCode::kUnsupported, "config.json: model_type: found '{}', supported: {}", type, known_families());
}

bool has_adapters(const Json& config) {
  const std::optional<Json> adapters = config.find("adapters");
  const std::optional<Json> list = adapters ? adapters->find("adapters") : std::nullopt;
  return list && list->is_object() && list->raw_object()->size() > 0;
}

// Weights that are not the model's own numbers.
Result<> refuse_wrapped_weights(const std::filesystem::path& folder, const Json& config) {
  if (has_adapters(config)) return fail(ErrorCode::kUnsupported, "config.json: adapters: merge them into the weights first");
  std::error_code ignored;
  if (std::filesystem::exists(folder / "adapter_config.json", ignored)) {
    return fail(ErrorCode::kUnsupported,
                "adapter_config.json: the folder holds an adapter; merge it into its base model first");
  }
  return {};
}

Result<> refuse_what_changes_vectors(const std::filesystem::path& folder, const Json& config) {
  TRY_VOID(refuse_flag(config, "is_decoder", "decoders see only earlier tokens"));
  TRY_VOID(refuse_flag(config, "add_cross_attention", "there is no second input to attend to"));
  TRY_VOID(refuse_flag(config, "is_encoder_decoder", "only encoders embed texts here"));
  TRY_VOID(refuse_wrapped_weights(folder, config));
  return want_text(config, "position_embedding_type", "absolute");
}

Result<> check_sizes(const Family& family, const EncoderConfig& encoder) {
  if (encoder.hidden_size % encoder.heads != 0) {
    return fail(ErrorCode::kCorrupt, "config.json: {} {} is no multiple of {} {}", family.keys.hidden, encoder.hidden_size,
                family.keys.heads, encoder.heads);
  }
  if (encoder.usable_positions() < 1) {
    return fail(ErrorCode::kCorrupt, "config.json: max_position_embeddings {} leaves no position after pad_token_id {}",
                encoder.max_positions, encoder.pad_token_id);
  }
  // The projection of narrower tables works in the memory of the feed-forward block.
  if (family.embedding_size && encoder.embedding_size > encoder.intermediate_size) {
    return fail(ErrorCode::kUnsupported, "config.json: embedding_size {} is above {} {}", encoder.embedding_size,
                family.keys.intermediate, encoder.intermediate_size);
  }
  return {};
}

// Sizes that every weight depends on must be stated; the rest falls back on transformers' defaults for the family.
Result<> read_family_sizes(const Json& config, const Family& family, EncoderConfig& encoder) {
  TRY_VOID(read_shape(config, family.keys, encoder));
  if (family.has_token_types) encoder.token_types = TRY(int_member(config, "type_vocab_size", {1, kMaxTokenTypes}, 2));
  encoder.pad_token_id = TRY(int_member(config, "pad_token_id", {0, encoder.vocab_size - 1}, family.default_pad));
  encoder.embedding_size = encoder.hidden_size;
  if (family.embedding_size) {
    encoder.embedding_size = TRY(int_member(config, "embedding_size", {1, kMaxHidden}, *family.embedding_size));
  }
  if (family.counts_from_pad) encoder.first_position = encoder.pad_token_id + 1;
  if (family.model_type == "albert") {
    encoder.groups = TRY(int_member(config, "num_hidden_groups", {1, encoder.layers}, 1));
    encoder.group_layers = TRY(int_member(config, "inner_group_num", {1, kMaxLayers}, 1));
  }
  return check_sizes(family, encoder);
}

}  // namespace

Result<EncoderConfig> read_encoder_config(const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const JsonDocument document = TRY(read_config(folder, "config.json"));
  const Json config = document.root();
  if (!config.is_object()) return fail(ErrorCode::kCorrupt, "config.json: wanted an object");
  EncoderConfig encoder;
  encoder.architectures = TRY(read_architectures(config));
  if (const BlockArchitecture* architecture = TRY(find_architecture(config))) {
    TRY_VOID(refuse_wrapped_weights(folder, config));
    TRY_VOID(read_architecture(*architecture, config, encoder, notes));
    return encoder;
  }
  encoder.model_type = TRY(read_model_type(config, encoder.architectures, notes).map_error(with_architectures));
  TRY_VOID(refuse_what_changes_vectors(folder, config));
  const Family& family = *find_family(encoder.model_type);
  TRY_VOID(read_family_sizes(config, family, encoder));
  encoder.activation = TRY(read_activation(config, family.activation, family.default_activation));
  encoder.layer_norm_eps = family.epsilon ? *family.epsilon : TRY(read_epsilon(config, "layer_norm_eps", 1e-12));
  if (config.find("auto_map")) notes.push_back("config.json: auto_map names code of the model's authors, which is not run");
  return encoder;
}

}  // namespace inlay
