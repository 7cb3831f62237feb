#include "tokenizer/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "tokenizer/json_fields.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxConfigBytes = 64U << 20;
// transformers writes 1e30 where there is no limit.
constexpr double kSensibleLength = 1e9;

constexpr std::array<std::string_view, 7> kNamedTokens = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                          "pad_token", "cls_token", "mask_token"};

using Defaults = std::array<std::string_view, 7>;  // in the order of kNamedTokens; empty: none
constexpr Defaults kBertDefaults = {"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr Defaults kMpnetDefaults = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"};

constexpr Defaults kRobertaDefaults = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
constexpr Defaults kDebertaDefaults = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
constexpr Defaults kAlbertDefaults = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
constexpr Defaults kT5Defaults = {"", "</s>", "<unk>", "", "<pad>", "", ""};
constexpr Defaults kLlamaDefaults = {"<s>", "</s>", "<unk>", "", "", "", ""};
constexpr Defaults kGemmaDefaults = {"<bos>", "<eos>", "<unk>", "", "<pad>", "", "<mask>"};
constexpr Defaults kGpt2Defaults = {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>", "", "", "", ""};
constexpr Defaults kQwenDefaults = {"", "<|endoftext|>", "<|endoftext|>", "", "<|endoftext|>", "", ""};

const Defaults& defaults_of(TokenizerFamily family) {
  static constexpr Defaults kNone = {};
  switch (family) {
    case TokenizerFamily::kBert: return kBertDefaults;
    case TokenizerFamily::kMpnet: return kMpnetDefaults;
    case TokenizerFamily::kXlmRoberta:
    case TokenizerFamily::kCamembert:
    case TokenizerFamily::kRoberta: return kRobertaDefaults;
    case TokenizerFamily::kDeberta: return kDebertaDefaults;
    case TokenizerFamily::kAlbert: return kAlbertDefaults;
    case TokenizerFamily::kT5: return kT5Defaults;
    case TokenizerFamily::kLlama: return kLlamaDefaults;
    case TokenizerFamily::kGemma: return kGemmaDefaults;
    case TokenizerFamily::kGpt2: return kGpt2Defaults;
    case TokenizerFamily::kQwen: return kQwenDefaults;
    case TokenizerFamily::kOther: break;
  }
  return kNone;
}

bool has_bert_text_steps(TokenizerFamily family) {
  return family == TokenizerFamily::kBert || family == TokenizerFamily::kMpnet;
}

struct FamilyName {
  std::string_view tokenizer;  // the class, without "Tokenizer"
  std::string_view model;      // model_type of config.json
  TokenizerFamily family;
};

constexpr std::array<FamilyName, 13> kFamilyNames = {{
    {"MPNet", "mpnet", TokenizerFamily::kMpnet},
    {"XLMRoberta", "xlm-roberta", TokenizerFamily::kXlmRoberta},
    {"Camembert", "camembert", TokenizerFamily::kCamembert},
    {"DebertaV2", "deberta-v2", TokenizerFamily::kDeberta},
    {"Albert", "albert", TokenizerFamily::kAlbert},
    {"T5", "t5", TokenizerFamily::kT5},
    {"Llama", "llama", TokenizerFamily::kLlama},
    {"Llama", "mistral", TokenizerFamily::kLlama},
    {"Gemma", "gemma3_text", TokenizerFamily::kGemma},
    {"Roberta", "roberta", TokenizerFamily::kRoberta},
    {"GPT2", "gpt2", TokenizerFamily::kGpt2},
    {"Qwen2", "qwen2", TokenizerFamily::kQwen},
    {"Qwen2", "qwen3", TokenizerFamily::kQwen},
}};

Result<std::optional<JsonDocument>> read_if_present(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return std::optional<JsonDocument>(TRY(JsonDocument::read(path, kMaxConfigBytes)));
}

std::optional<Json> find_in(const std::optional<JsonDocument>& document, std::string_view key) {
  return document ? document->root().find(key) : std::nullopt;
}

TokenizerFamily family_of_class(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  constexpr std::array<std::string_view, 6> kBert = {"BertTokenizer",       "DistilBertTokenizer", "ElectraTokenizer",
                                                     "MobileBertTokenizer", "ConvBertTokenizer",   "SqueezeBertTokenizer"};
  if (std::find(kBert.begin(), kBert.end(), name) != kBert.end()) return TokenizerFamily::kBert;
  if (!name.ends_with("Tokenizer")) return TokenizerFamily::kOther;
  name.remove_suffix(9);
  for (const FamilyName& known : kFamilyNames) {
    if (known.tokenizer == name) return known.family;
  }
  return TokenizerFamily::kOther;
}

TokenizerFamily family_of_model(std::string_view type) {
  constexpr std::array<std::string_view, 7> kBert = {"bert",     "distilbert",  "electra",   "mobilebert",
                                                     "convbert", "squeezebert", "nomic_bert"};
  if (std::find(kBert.begin(), kBert.end(), type) != kBert.end()) return TokenizerFamily::kBert;
  for (const FamilyName& known : kFamilyNames) {
    if (known.model == type) return known.family;
  }
  return TokenizerFamily::kOther;
}

// The class is named by tokenizer_config.json, else by config.json, else it follows from the model's type.
Result<TokenizerFamily> read_family(const std::optional<JsonDocument>& tokenizer_config, const std::filesystem::path& folder) {
  if (const std::optional<Json> name = find_in(tokenizer_config, "tokenizer_class")) {
    return family_of_class(TRY(name->as_string()));
  }
  const std::optional<JsonDocument> config = TRY(read_if_present(folder / "config.json"));
  if (const std::optional<Json> name = find_in(config, "tokenizer_class")) return family_of_class(TRY(name->as_string()));
  const std::optional<Json> type = find_in(config, "model_type");
  return type ? family_of_model(TRY(type->as_string())) : TokenizerFamily::kOther;
}

// A special token is a string or an object with `content` and flags.
Result<AddedToken> read_special_token(const Json& json) {
  AddedToken token;
  if (json.is_string()) {
    token.content = std::string(TRY(json.as_string()));
  } else {
    token = TRY(read_added_token(json, false));
    token.normalized = TRY(json.bool_or("normalized", false));
  }
  token.special = true;
  return token;
}

bool is_known(const std::vector<AddedToken>& tokens, std::string_view content) {
  return std::any_of(tokens.begin(), tokens.end(), [&](const AddedToken& token) { return token.content == content; });
}

// Classes whose mask token takes the spaces before it along, unless a file says otherwise.
bool mask_takes_spaces(TokenizerFamily family) {
  return family == TokenizerFamily::kMpnet || family == TokenizerFamily::kXlmRoberta || family == TokenizerFamily::kCamembert;
}

using NamedTokens = std::array<std::optional<Json>, 7>;  // in the order of kNamedTokens

NamedTokens find_named_tokens(const std::optional<JsonDocument>& first, const std::optional<JsonDocument>& second) {
  NamedTokens named;
  for (size_t i = 0; i < named.size(); ++i) {
    named[i] = find_in(first, kNamedTokens[i]);
    if (!named[i]) named[i] = find_in(second, kNamedTokens[i]);
  }
  return named;
}

Result<std::vector<AddedToken>> read_special_tokens(const NamedTokens& named, TokenizerFamily family) {
  const Defaults& defaults = defaults_of(family);
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < named.size(); ++i) {
    AddedToken token{.content = std::string(defaults[i]), .special = true};
    if (named[i]) token = TRY(read_special_token(*named[i]));
    const bool is_bare = !named[i] || (named[i]->is_string() && family != TokenizerFamily::kMpnet);
    if (is_bare && kNamedTokens[i] == "mask_token") token.lstrip = mask_takes_spaces(family);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// {"0": {"content": "[PAD]", ...}, ...}: the tokens in the order of their ids.
Result<std::vector<AddedToken>> read_added_tokens_decoder(const Json& json) {
  std::vector<std::pair<int64_t, AddedToken>> tokens;
  const std::vector<std::pair<std::string_view, Json>> members = TRY(json.members());
  for (const auto& [key, value] : members) {
    int64_t id = 0;
    const std::from_chars_result parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || id < 0 || id > INT32_MAX) {
      return fail(ErrorCode::kCorrupt, "{}: found the key '{}', wanted an id", json.where(), key);
    }
    tokens.emplace_back(id, TRY(read_added_token(value, false)));
  }
  std::stable_sort(tokens.begin(), tokens.end(), [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<AddedToken> result;
  for (auto& [id, token] : tokens) result.push_back(std::move(token));
  return result;
}

// {"[MASK]": 128000, ...}, which older versions of transformers wrote: in the order of the ids, special where a file names them
// so.
Result<std::vector<AddedToken>> read_added_tokens_file(const std::filesystem::path& path,
                                                       const std::vector<std::string>& special) {
  const std::optional<JsonDocument> document = TRY(read_if_present(path));
  std::vector<std::pair<int64_t, AddedToken>> tokens;
  std::vector<std::pair<std::string_view, Json>> members;
  if (document) members = TRY(document->root().members());
  for (const auto& [content, id] : members) {
    const bool is_special = std::find(special.begin(), special.end(), content) != special.end();
    const int64_t place = TRY(id.as_int_in(0, INT32_MAX));
    tokens.emplace_back(place, AddedToken{.content = std::string(content), .normalized = !is_special, .special = is_special});
  }
  std::stable_sort(tokens.begin(), tokens.end(), [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<AddedToken> result;
  for (auto& [id, token] : tokens) result.push_back(std::move(token));
  return result;
}

Result<std::vector<AddedToken>> read_extra_tokens(const std::optional<Json>& json) {
  std::vector<AddedToken> tokens;
  if (!json || !json->is_array()) return tokens;
  const std::vector<Json> items = TRY(json->items());
  for (const Json& item : items) tokens.push_back(TRY(read_special_token(item)));
  return tokens;
}

// The named tokens that exist, then those that tokenizer_config.json lists besides, each once.
Result<std::vector<AddedToken>> collect_special(const std::vector<AddedToken>& named,
                                                const std::optional<JsonDocument>& document) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : named) {
    if (!token.content.empty() && !is_known(tokens, token.content)) tokens.push_back(token);
  }
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"}) {
    std::vector<AddedToken> extra = TRY(read_extra_tokens(find_in(document, key)));
    for (AddedToken& token : extra) {
      if (!is_known(tokens, token.content)) tokens.push_back(std::move(token));
    }
  }
  return tokens;
}

Result<> read_edges(const Json& root, TokenizerConfig& result) {
  result.adds_bos = TRY(root.bool_or("add_bos_token", false));
  result.adds_eos = TRY(root.bool_or("add_eos_token", false));
  if (const std::optional<Json> prefix = root.find("add_prefix_space")) result.adds_prefix_space = TRY(prefix->as_bool());
  return {};
}

Result<std::optional<BertOverrides>> read_overrides(const std::optional<JsonDocument>& document, TokenizerFamily family) {
  if (!has_bert_text_steps(family)) return std::nullopt;
  BertOverrides overrides;
  if (!document) return overrides;
  const Json root = document->root();
  overrides.lowercase = TRY(root.bool_or("do_lower_case", true));
  overrides.handle_chinese_chars = TRY(root.bool_or("tokenize_chinese_chars", true));
  if (const std::optional<Json> strip = root.find("strip_accents")) overrides.strip_accents = TRY(strip->as_bool());
  return overrides;
}

Result<SentencepieceFlags> read_sentencepiece_flags(const std::optional<JsonDocument>& document) {
  SentencepieceFlags flags;
  if (!document) return flags;
  const Json root = document->root();
  if (const std::optional<Json> lowercase = root.find("do_lower_case")) flags.lowercase = TRY(lowercase->as_bool());
  flags.splits_punctuation = TRY(root.bool_or("split_by_punct", false));
  flags.keeps_accents = TRY(root.bool_or("keep_accents", false));
  flags.is_legacy = TRY(root.bool_or("legacy", false));
  if (const std::optional<Json> extra = root.find("extra_ids")) flags.extra_ids = TRY(extra->as_int_in(0, 10000));
  return flags;
}

}  // namespace

Result<AddedToken> read_added_token(const Json& json, bool all_fields) {
  const auto read_flag = [&](std::string_view key, bool fallback) -> Result<bool> {
    return all_fields ? get_bool(json, key) : json.bool_or(key, fallback);
  };
  AddedToken token;
  token.content = TRY(get_string(json, "content"));
  token.single_word = TRY(read_flag("single_word", false));
  token.lstrip = TRY(read_flag("lstrip", false));
  token.rstrip = TRY(read_flag("rstrip", false));
  token.special = TRY(read_flag("special", false));
  token.normalized = TRY(read_flag("normalized", !token.special));
  return token;
}

Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder, bool has_json) {
  const std::optional<JsonDocument> document = TRY(read_if_present(folder / "tokenizer_config.json"));
  TokenizerConfig result;
  result.family = TRY(read_family(document, folder));
  result.bert = TRY(read_overrides(document, result.family));
  result.sentencepiece = TRY(read_sentencepiece_flags(document));
  if (document) TRY_VOID(read_edges(document->root(), result));
  // What a newer transformers wrote into tokenizer_config.json takes the place of the older files.
  const std::optional<Json> decoder = find_in(document, "added_tokens_decoder");
  std::optional<JsonDocument> map;
  if (!decoder) map = TRY(read_if_present(folder / "special_tokens_map.json"));
  const NamedTokens named = find_named_tokens(map, document);
  const bool knows_defaults = !has_json || has_bert_text_steps(result.family);
  const std::vector<AddedToken> special =
      TRY(read_special_tokens(named, knows_defaults ? result.family : TokenizerFamily::kOther));
  result.bos_token = special[0].content;
  result.eos_token = special[1].content;
  result.unknown_token = special[2].content;
  result.sep_token = special[3].content;
  result.cls_token = special[5].content;
  result.special_tokens = TRY(collect_special(special, document));
  if (decoder) {
    result.overriding_tokens = TRY(read_added_tokens_decoder(*decoder));
  } else if (!has_json) {
    std::vector<std::string> known;
    for (size_t i = 0; i < named.size(); ++i) {
      if (named[i]) known.push_back(special[i].content);
    }
    result.overriding_tokens = TRY(read_added_tokens_file(folder / "added_tokens.json", known));
  }
  if (const std::optional<Json> length = find_in(document, "model_max_length")) {
    const double value = TRY(length->as_double());
    if (value >= 1 && value <= kSensibleLength) result.model_max_length = static_cast<int>(value);
  }
  return result;
}

}  // namespace inlay
