#include "tokenizer/text_steps.h"

#include <string_view>

#include "tokenizer/charsmap.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/pre_tokenizer_json.h"

namespace inlay {
namespace {

struct NormalizerList {
  Normalizers steps;
  bool has_lowercase = false;
  std::optional<BertOptions> bert;  // of the last BertNormalizer

  void add(std::unique_ptr<Normalizer> step) { steps.push_back(std::move(step)); }
};

Result<BertOptions> read_bert_options(const Json& json, const std::optional<BertOverrides>& overrides) {
  BertOptions options;
  options.clean_text = TRY(get_bool(json, "clean_text"));
  options.handle_chinese_chars = TRY(get_bool(json, "handle_chinese_chars"));
  options.lowercase = TRY(get_bool(json, "lowercase"));
  options.strip_accents = TRY(json.bool_or("strip_accents", options.lowercase));
  if (overrides) {
    options.handle_chinese_chars = overrides->handle_chinese_chars;
    options.lowercase = overrides->lowercase;
    options.strip_accents = overrides->strip_accents.value_or(overrides->lowercase);
  }
  return options;
}

Result<std::unique_ptr<Normalizer>> read_replace(const Json& json) {
  const Json pattern = TRY(json.get("pattern"));
  std::string to = TRY(get_string(json, "content"));
  const std::optional<Json> text = pattern.find("String");
  if (!text) return std::make_unique<RegexReplaceNormalizer>(TRY(read_pattern(pattern)), std::move(to));
  std::string from(TRY(text->as_string()));
  if (from.empty()) return fail(ErrorCode::kUnsupported, "{}: is empty", text->where());
  return std::make_unique<ReplaceNormalizer>(std::move(from), std::move(to));
}

Result<std::unique_ptr<Normalizer>> read_precompiled(const Json& json) {
  const Json text = TRY(json.get("precompiled_charsmap"));
  const std::string bytes = TRY(text.as_string().and_then(decode_base64).map_error(within(text.where())));
  if (bytes.empty()) return nullptr;
  return std::make_unique<CharsmapNormalizer>(TRY(Charsmap::parse(bytes).map_error(within(text.where()))));
}

std::optional<NormalForm> normal_form_named(std::string_view type) {
  if (type == "NFC") return NormalForm::kNfc;
  if (type == "NFD") return NormalForm::kNfd;
  if (type == "NFKC") return NormalForm::kNfkc;
  if (type == "NFKD") return NormalForm::kNfkd;
  return std::nullopt;
}

Result<> read_normalizer(const Json& json, const std::optional<BertOverrides>& overrides, NormalizerList& list) {
  const std::string type = TRY(get_string(json, "type"));
  if (type == "Sequence") {
    // Only a BertNormalizer that stands alone is overridden.
    const std::vector<Json> items = TRY(get_items(json, "normalizers"));
    for (const Json& item : items) TRY_VOID(read_normalizer(item, std::nullopt, list));
  } else if (type == "BertNormalizer" || type == "Bert") {
    list.bert = TRY(read_bert_options(json, overrides));
    list.add(std::make_unique<BertNormalizer>(*list.bert));
  } else if (type == "Lowercase") {
    list.has_lowercase = true;
    list.add(std::make_unique<LowercaseNormalizer>());
  } else if (const std::optional<NormalForm> form = normal_form_named(type)) {
    list.add(std::make_unique<NormalFormNormalizer>(*form));
  } else if (type == "StripAccents") {
    list.add(std::make_unique<StripAccentsNormalizer>());
  } else if (type == "Strip") {
    list.add(std::make_unique<StripNormalizer>(TRY(get_bool(json, "strip_left")), TRY(get_bool(json, "strip_right"))));
  } else if (type == "Replace") {
    list.add(TRY(read_replace(json)));
  } else if (type == "Precompiled") {
    std::unique_ptr<Normalizer> step = TRY(read_precompiled(json));
    if (step != nullptr) list.add(std::move(step));
  } else if (type == "Nmt") {
    list.add(std::make_unique<NmtNormalizer>());
  } else if (type == "ByteLevel") {
    list.add(std::make_unique<ByteLevelNormalizer>());
  } else if (type == "Prepend") {
    list.add(std::make_unique<PrependNormalizer>(TRY(get_string(json, "prepend"))));
  } else {
    return fail(ErrorCode::kUnsupported, "{}: Inlay does not know the normalizer '{}'", json.where(), type);
  }
  return {};
}

}  // namespace

Result<TextSteps> read_text_steps(const std::optional<Json>& normalizer, const std::optional<Json>& pre_tokenizer,
                                  const TextStepChanges& changes) {
  NormalizerList list;
  if (normalizer) TRY_VOID(read_normalizer(*normalizer, changes.bert, list));
  const bool lowercase_first = changes.lowercase_first && !list.has_lowercase;
  const bool is_bert_alone = list.bert && list.steps.size() == 1;
  TextSteps result;
  if (lowercase_first) result.normalizers.push_back(std::make_unique<LowercaseNormalizer>());
  for (std::unique_ptr<Normalizer>& step : list.steps) result.normalizers.push_back(std::move(step));
  if (pre_tokenizer) {
    PreTokenizerList splits = TRY(read_pre_tokenizers(*pre_tokenizer));
    result.pre_tokenizers = std::move(splits.steps);
    result.ends_in_byte_map = splits.ends_in_byte_map;
  }
  const bool is_bert_split = result.pre_tokenizers.size() == 1 && TRY(get_string(*pre_tokenizer, "type")) == "BertPreTokenizer";
  if (is_bert_alone && is_bert_split) {
    result.bert = list.bert;
    result.bert->lowercase_first = lowercase_first;
  }
  return result;
}

TextSteps bert_text_steps(const BertOptions& options) {
  TextSteps result;
  if (options.lowercase_first) result.normalizers.push_back(std::make_unique<LowercaseNormalizer>());
  result.normalizers.push_back(std::make_unique<BertNormalizer>(options));
  result.pre_tokenizers.push_back(std::make_unique<BertSplit>());
  result.bert = options;
  return result;
}

}  // namespace inlay
