#include "tokenizer/pre_tokenizer_json.h"

#include <string>
#include <string_view>

#include "tokenizer/json_fields.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/split.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

Result<SplitBehavior> read_behavior(const Json& json) {
  const std::optional<Json> behavior = json.find("behavior");
  if (!behavior) return SplitBehavior::kIsolated;
  const std::string_view name = TRY(behavior->as_string());
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return fail(ErrorCode::kCorrupt, "{}: unknown behavior '{}'", behavior->where(), name);
}

// A string of one character.
Result<std::string> read_character(const Json& json, std::string_view key) {
  std::string text = TRY(get_string(json, key));
  if (count_chars(text) != 1) {
    return fail(ErrorCode::kCorrupt, "{}.{}: found '{}', wanted one character", json.where(), key, text);
  }
  return text;
}

Result<PrependScheme> read_prepend_scheme(const Json& json) {
  const std::string name = TRY(json.string_or("prepend_scheme", "always"));
  // Files of early versions have this in the place of the scheme.
  const bool adds_prefix = TRY(json.bool_or("add_prefix_space", true));
  if (!adds_prefix && name != "never" && json.find("prepend_scheme")) {
    return fail(ErrorCode::kCorrupt, "{}: add_prefix_space is false, but prepend_scheme is '{}'", json.where(), name);
  }
  if (!adds_prefix || name == "never") return PrependScheme::kNever;
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  return fail(ErrorCode::kCorrupt, "{}.prepend_scheme: found '{}', wanted always, first or never", json.where(), name);
}

Result<MetaspaceOptions> read_metaspace(const Json& json) {
  MetaspaceOptions options;
  options.replacement = TRY(read_character(json, "replacement"));
  options.prepend = TRY(read_prepend_scheme(json));
  options.split = TRY(json.bool_or("split", true));
  return options;
}

Result<std::unique_ptr<PreTokenizer>> read_split(const Json& json) {
  const Json pattern = TRY(json.get("pattern"));
  RegexSplit::Options options;
  options.behavior = TRY(read_behavior(json));
  options.invert = TRY(json.bool_or("invert", false));
  const std::optional<Json> regex = pattern.find("Regex");
  const bool is_known = regex && pattern_cuts_at_space(TRY(regex->as_string()));
  // With `invert` and Removed, as older files write the same, matches are the pieces too.
  const bool keeps_matches =
      options.behavior == SplitBehavior::kIsolated || (options.behavior == SplitBehavior::kRemoved && options.invert);
  options.cuts_at_space = is_known && keeps_matches;
  return std::make_unique<RegexSplit>(TRY(read_pattern(pattern)), options);
}

Result<> add_byte_level(const Json& json, PreTokenizers& list) {
  if (TRY(get_bool(json, "add_prefix_space"))) list.push_back(std::make_unique<PrefixSpace>());
  if (TRY(json.bool_or("use_regex", true))) {
    Regex regex = TRY(Regex::compile(kGpt2Pattern));
    list.push_back(std::make_unique<RegexSplit>(std::move(regex), RegexSplit::Options{.cuts_at_space = true}));
  }
  list.push_back(std::make_unique<ByteMap>());
  return {};
}

Result<std::unique_ptr<PreTokenizer>> read_char_split(const Json& json, std::string_view type) {
  if (type == "WhitespaceSplit") return std::make_unique<CharSplit>(kWhite, SplitBehavior::kRemoved);
  if (type == "Punctuation") return std::make_unique<CharSplit>(kPunctuation, TRY(read_behavior(json)));
  const bool is_single = TRY(get_bool(json, "individual_digits"));
  return std::make_unique<CharSplit>(kNumeric, is_single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

Result<> add_pre_tokenizer(const Json& json, PreTokenizerList& list) {
  const std::string type = TRY(get_string(json, "type"));
  list.ends_in_byte_map = type == "ByteLevel";
  if (type == "Sequence") {
    const std::vector<Json> items = TRY(get_items(json, "pretokenizers"));
    for (const Json& item : items) TRY_VOID(add_pre_tokenizer(item, list));
  } else if (type == "BertPreTokenizer") {
    list.steps.push_back(std::make_unique<BertSplit>());
  } else if (type == "Whitespace") {
    list.steps.push_back(std::make_unique<WordSplit>());
  } else if (type == "WhitespaceSplit" || type == "Punctuation" || type == "Digits") {
    list.steps.push_back(TRY(read_char_split(json, type)));
  } else if (type == "Metaspace") {
    list.steps.push_back(std::make_unique<Metaspace>(TRY(read_metaspace(json))));
  } else if (type == "Split") {
    list.steps.push_back(TRY(read_split(json)));
  } else if (type == "ByteLevel") {
    TRY_VOID(add_byte_level(json, list.steps));
  } else if (type == "CharDelimiterSplit") {
    list.steps.push_back(std::make_unique<DelimiterSplit>(TRY(read_character(json, "delimiter"))));
  } else if (type == "FixedLength") {
    const int64_t length = TRY(json.int_or("length", 5));
    if (length < 1) return fail(ErrorCode::kCorrupt, "{}.length is {}, wanted at least 1", json.where(), length);
    list.steps.push_back(std::make_unique<LengthSplit>(static_cast<size_t>(length)));
  } else {
    return fail(ErrorCode::kUnsupported, "{}: Inlay does not know the pre-tokenizer '{}'", json.where(), type);
  }
  return {};
}

}  // namespace

Result<PreTokenizerList> read_pre_tokenizers(const Json& json) {
  PreTokenizerList list;
  TRY_VOID(add_pre_tokenizer(json, list));
  return list;
}

Result<Regex> read_pattern(const Json& json) {
  if (const std::optional<Json> text = json.find("String")) {
    return Regex::of_literal(TRY(text->as_string())).map_error(within(text->where()));
  }
  const Json regex = TRY(json.get("Regex"));
  return regex.as_string().and_then(Regex::compile).map_error(within(regex.where()));
}

}  // namespace inlay
