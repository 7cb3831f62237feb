#include "tokenizer/tokenizer_files.h"

#include <algorithm>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/tokenizer_config.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxTokenizerBytes = 256U << 20;

Result<Vocabulary> read_vocabulary(const Json& json) {
  std::vector<Vocabulary::Entry> entries;
  const simdjson::dom::object object = TRY(json.raw_object());
  entries.reserve(object.size());
  for (const auto& [token, value] : object) {
    int64_t id = -1;
    if (value.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX) {
      return fail(ErrorCode::kCorrupt, "{}: the id of '{}' is not an integer from 0 to {}", json.where(), token, INT32_MAX);
    }
    entries.emplace_back(token, static_cast<int32_t>(id));
  }
  return Vocabulary::build(std::move(entries)).map_error(within(json.where()));
}

// Files of early versions do not name the type; then the fields tell.
Result<std::string> model_type(const Json& json) {
  if (const std::optional<Json> type = json.find("type")) return std::string(TRY(type->as_string()));
  if (json.find("merges")) return std::string("BPE");
  if (json.find("continuing_subword_prefix") && json.find("max_input_chars_per_word")) return std::string("WordPiece");
  return fail(ErrorCode::kUnsupported, "{}.type is missing, and the fields are not those of a WordPiece model", json.where());
}

Result<> read_model(const Json& json, TokenizerParts& parts) {
  const std::string type = TRY(model_type(json));
  if (type != "WordPiece")
    return fail(ErrorCode::kUnsupported, "{}.type: Inlay does not know the model '{}'", json.where(), type);
  WordPieceOptions options;
  options.unknown_token = TRY(get_string(json, "unk_token"));
  options.continuing_prefix = TRY(get_string(json, "continuing_subword_prefix"));
  options.max_chars = static_cast<size_t>(TRY(get_int_in(json, "max_input_chars_per_word", 0, INT64_MAX)));
  Vocabulary vocabulary = TRY(json.get("vocab").and_then(read_vocabulary));
  std::unique_ptr<WordPiece> model =
      std::make_unique<WordPiece>(TRY(WordPiece::build(std::move(vocabulary), options).map_error(within(json.where()))));
  parts.word_piece = model.get();
  parts.model = std::move(model);
  return {};
}

// Gives added tokens their ids as `tokenizers` does: a token of the vocabulary keeps its id, a new one takes the next free one.
class AddedTokenList {
 public:
  explicit AddedTokenList(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), next_id_(static_cast<int64_t>(vocabulary.size())) {}

  Result<> add(AddedToken token, bool overrides) {
    if (token.content.empty()) return {};
    const std::vector<AddedToken>::iterator known =
        std::find_if(tokens_.begin(), tokens_.end(), [&](const AddedToken& other) { return other.content == token.content; });
    if (known != tokens_.end()) {
      token.id = known->id;
      if (overrides) *known = std::move(token);
      return {};
    }
    const std::optional<int32_t> id = vocabulary_.id_of(token.content);
    if (!id && next_id_ > INT32_MAX) return fail(ErrorCode::kTooLarge, "no id is left for the added token '{}'", token.content);
    token.id = id ? *id : static_cast<int32_t>(next_id_++);
    tokens_.push_back(std::move(token));
    return {};
  }

  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  const Vocabulary& vocabulary_;
  int64_t next_id_;
  std::vector<AddedToken> tokens_;
};

Result<std::vector<AddedToken>> collect_added_tokens(const std::optional<Json>& json, const TokenizerConfig& config,
                                                     const Vocabulary& vocabulary) {
  AddedTokenList list(vocabulary);
  if (json) {
    const std::vector<Json> items = TRY(json->items());
    for (const Json& item : items) {
      TRY_VOID(get_int_in(item, "id", 0, INT32_MAX));
      AddedToken token = TRY(read_added_token(item, true));
      TRY_VOID(list.add(std::move(token), true));
    }
  }
  for (const AddedToken& token : config.overriding_tokens) TRY_VOID(list.add(token, true));
  for (const AddedToken& token : config.special_tokens) TRY_VOID(list.add(token, false));
  return list.take();
}

Result<TokenizerParts> read_json_tokenizer(const std::filesystem::path& path, const TokenizerConfig& config,
                                           bool lowercase_first) {
  const JsonDocument document = TRY(JsonDocument::read(path, kMaxTokenizerBytes));
  const Json root = document.root();
  const std::string version = TRY(root.string_or("version", "1.0"));
  if (version != "1.0") return fail(ErrorCode::kUnsupported, "{}: version '{}', wanted 1.0", root.where(), version);
  TokenizerParts parts;
  const Json model = TRY(root.get("model"));
  TRY_VOID(read_model(model, parts));
  const TextStepChanges changes{.bert = config.bert, .lowercase_first = lowercase_first};
  parts.steps = TRY(read_text_steps(root.find("normalizer"), root.find("pre_tokenizer"), changes));
  parts.added_tokens = TRY(collect_added_tokens(root.find("added_tokens"), config, parts.model->vocabulary()));
  if (const std::optional<Json> post = root.find("post_processor")) parts.post_processor = TRY(read_post_processor(*post));
  return parts;
}

std::string_view trim_end(std::string_view line) {
  while (!line.empty()) {
    const Decoded last = decode_utf8_before(line.data(), line.data() + line.size());
    if ((char_class(last.code).flags & kWhite) == 0) break;
    line.remove_suffix(last.size);
  }
  return line;
}

// One token a line; its number is its id.
Result<Vocabulary> read_vocab_text(const std::filesystem::path& path) {
  const std::string text = TRY(read_file(path, kMaxTokenizerBytes));
  const std::string name = path.filename().string();
  if (!is_valid_utf8(text)) return fail(ErrorCode::kCorrupt, "{}: not valid UTF-8", name);
  std::vector<Vocabulary::Entry> entries;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    entries.emplace_back(trim_end(std::string_view(text).substr(begin, end - begin)), static_cast<int32_t>(entries.size()));
    begin = end + 1;
  }
  return Vocabulary::build(std::move(entries)).map_error(within(name));
}

Result<int32_t> find_special(const Vocabulary& vocabulary, const std::string& token) {
  const std::optional<int32_t> id = vocabulary.id_of(token);
  if (!id) return fail(ErrorCode::kCorrupt, "vocab.txt lacks the special token '{}'", token);
  return *id;
}

Result<TokenizerParts> read_text_tokenizer(const std::filesystem::path& path, TokenizerConfig config, bool lowercase_first) {
  const BertOverrides flags = config.bert.value_or(BertOverrides{});
  BertOptions options;
  options.handle_chinese_chars = flags.handle_chinese_chars;
  options.lowercase = flags.lowercase;
  options.strip_accents = flags.strip_accents.value_or(flags.lowercase);
  options.lowercase_first = lowercase_first;
  TokenizerParts parts;
  parts.steps = bert_text_steps(options);
  Vocabulary vocabulary = TRY(read_vocab_text(path));
  const int32_t cls = TRY(find_special(vocabulary, config.cls_token));
  const int32_t sep = TRY(find_special(vocabulary, config.sep_token));
  parts.post_processor =
      config.family == TokenizerFamily::kMpnet ? roberta_post_processor(cls, sep) : bert_post_processor(cls, sep);
  const WordPieceOptions word_piece{.unknown_token = config.unknown_token};
  std::unique_ptr<WordPiece> model =
      std::make_unique<WordPiece>(TRY(WordPiece::build(std::move(vocabulary), word_piece).map_error(within("vocab.txt"))));
  parts.word_piece = model.get();
  parts.model = std::move(model);
  parts.added_tokens = TRY(collect_added_tokens(std::nullopt, config, parts.model->vocabulary()));
  return parts;
}

}  // namespace

Result<TokenizerParts> read_tokenizer_files(const std::filesystem::path& folder, bool lowercase_first) {
  TokenizerConfig config = TRY(read_tokenizer_config(folder));
  const std::optional<int> model_max_length = config.model_max_length;
  std::error_code error;
  TokenizerParts parts;
  if (std::filesystem::exists(folder / "tokenizer.json", error)) {
    parts = TRY(read_json_tokenizer(folder / "tokenizer.json", config, lowercase_first));
  } else if (std::filesystem::exists(folder / "vocab.txt", error)) {
    parts = TRY(read_text_tokenizer(folder / "vocab.txt", std::move(config), lowercase_first));
  } else {
    return fail(ErrorCode::kNotFound, "{}: found neither tokenizer.json nor vocab.txt", folder.string());
  }
  parts.model_max_length = model_max_length;
  return parts;
}

}  // namespace inlay
