// Late interaction as ColBERT began it: queries that are filled up with mask tokens, and ColBERT's own checkpoints.
// Source: Khattab and Zaharia 2020, and sentence-transformers' MultiVectorEncoder, which loads both kinds of folders.
#include <algorithm>
#include <array>

#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr std::array<std::string_view, 4> kExpansionKeys = {"strategy", "attend", "token", "length"};
constexpr std::string_view kPunctuation = R"(!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~)";  // Python's string.punctuation
constexpr int kMostTokens = 1 << 20;

// The tokenizer's mask token, by its name or by those that classes of tokenizers have for it, else the token that ends texts.
Result<std::vector<std::string>> filling_tokens(const std::filesystem::path& folder) {
  const std::optional<JsonDocument> document = TRY(read_config_if_there(folder, "tokenizer_config.json"));
  if (!document) return std::vector<std::string>{"[MASK]", "<mask>"};
  if (TRY(document->root().string_or("padding_side", "right")) != "right") {
    return fail(ErrorCode::kUnsupported, "tokenizer_config.json: padding_side: queries are filled up on the right only");
  }
  std::vector<std::string> tokens = {TRY(token_of_role(document->root(), "mask_token"))};
  if (tokens[0].empty()) tokens = {"[MASK]", "<mask>", TRY(token_of_role(document->root(), "eos_token"))};
  return tokens;
}

// Tokens that attention does not see are served where each still sees all the others, as in the reference.
Result<> check_sight(const EncoderConfig& encoder, const QueryFill& fill, const std::string& where) {
  if (fill.length > encoder.usable_positions()) {
    return fail(ErrorCode::kCorrupt, "{}: queries are filled up to {} tokens, the model has {} positions", where, fill.length,
                encoder.usable_positions());
  }
  const TransformerConfig& config = encoder.transformer;
  const int left = std::min(config.sight.left, config.local_sight.left);
  if (fill.is_seen || (config.span == 0 && left >= fill.length - 1)) return {};
  return fail(ErrorCode::kUnsupported,
              "{}: queries of {} tokens, of which those that fill them up are not attended to, are not served in {}", where,
              fill.length, config.span > 0 ? encoder.model_type : fmt::format("windows of {} tokens", left));
}

// An empty name counts as none.
Result<std::string> marker_of(const Json& config, std::string_view key, std::string_view fallback) {
  const std::string name = TRY(config.string_or(key, fallback));
  return name.empty() ? std::string(fallback) : name;
}

Result<> check_keys(const Json& expansion) {
  for (const auto& [key, value] : TRY(expansion.members())) {
    if (std::find(kExpansionKeys.begin(), kExpansionKeys.end(), key) != kExpansionKeys.end()) continue;
    return fail(ErrorCode::kUnsupported, "{}: an unknown setting; supported: {}", value.where(), list_text(kExpansionKeys));
  }
  return {};
}

}  // namespace

Result<> read_query_expansion(const Json& expansion, ModelSpec& spec) {
  if (!spec.tokens || !spec.tokens->has_mask) {
    return fail(ErrorCode::kUnsupported, "{}: served only with a MultiVectorMask among the modules", expansion.where());
  }
  TRY_VOID(check_keys(expansion));
  QueryFill fill;
  const std::string strategy = TRY(expansion.string_or("strategy", ""));
  if (strategy != "fixed" && strategy != "min") {
    return fail(ErrorCode::kUnsupported, "{}: strategy: found '{}', supported: fixed, min", expansion.where(), strategy);
  }
  fill.cuts = strategy == "fixed";
  fill.is_seen = TRY(expansion.bool_or("attend", false));
  fill.length = TRY(int_member(expansion, "length", {1, kMostTokens}, std::nullopt));
  const std::string token = TRY(expansion.string_or("token", ""));
  fill.tokens = token.empty() ? TRY(filling_tokens(spec.folder)) : std::vector<std::string>{token};
  if (spec.tokens->query_length.value_or(fill.length) < fill.length) {
    return fail(ErrorCode::kCorrupt, "{}: length {} is above query_length {}", expansion.where(), fill.length,
                *spec.tokens->query_length);
  }
  spec.tokens->fill = std::move(fill);
  return check_sight(spec.encoder, *spec.tokens->fill, expansion.where());
}

bool is_colbert(const EncoderConfig& encoder) {
  const std::vector<std::string>& names = encoder.architectures;
  return std::find(names.begin(), names.end(), "HF_ColBERT") != names.end();
}

Result<> read_colbert(ModelSpec& spec) {
  const std::optional<JsonDocument> document = TRY(read_config_if_there(spec.folder, "artifact.metadata"));
  if (!document) spec.notes.emplace_back("no artifact.metadata: the settings of ColBERT, as sentence-transformers does");
  const JsonDocument nothing = TRY(JsonDocument::parse("{}", "artifact.metadata"));
  const Json config = document ? document->root() : nothing.root();
  TokenSpec& tokens = spec.tokens.emplace();
  tokens.is_inline = true;
  tokens.modules.emplace_back().kind = ModuleSpec::Kind::kNormalize;
  if (config.find("doc_maxlen")) tokens.document_length = TRY(int_member(config, "doc_maxlen", {1, kMostTokens}, std::nullopt));
  QueryFill& fill = tokens.fill.emplace();
  fill.length = TRY(int_member(config, "query_maxlen", {1, kMostTokens}, 32));
  fill.is_seen = TRY(config.bool_or("attend_to_mask_tokens", false));
  fill.tokens = TRY(filling_tokens(spec.folder));
  if (TRY(config.bool_or("mask_punctuation", true))) {
    for (const char mark : kPunctuation) tokens.skipped.emplace_back(1, mark);
  }
  tokens.markers = {TRY(marker_of(config, "query_token_id", "[unused0]")), TRY(marker_of(config, "doc_token_id", "[unused1]"))};
  spec.prompts = {{"query", tokens.markers[0] + " "}, {"document", tokens.markers[1] + " "}};
  // Texts of which it is not said what they are count as documents.
  spec.default_prompt_name = "document";
  return check_sight(spec.encoder, fill, "artifact.metadata: query_maxlen");
}

}  // namespace inlay
