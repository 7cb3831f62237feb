#include "tokenizer/tokenizer_files.h"

#include <algorithm>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "tokenizer/added_token_list.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/model_json.h"
#include "tokenizer/piece_files.h"
#include "tokenizer/tokenizer_config.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxTokenizerBytes = 256U << 20;

Result<std::vector<AddedToken>> collect_added_tokens(const std::optional<Json>& json, const TokenizerConfig& config,
                                                     const TokenizerModel& model) {
  AddedTokenList list(model);
  if (json) {
    const std::vector<Json> items = TRY(json->items());
    for (const Json& item : items) {
      TRY_VOID(get_int_in(item, "id", 0, INT32_MAX));
      AddedToken token = TRY(read_added_token(item, true));
      TRY_VOID(list.add(std::move(token), true));
    }
  }
  TRY_VOID(list.add_config(config));
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
  ReadModel read = TRY(read_model(model));
  parts.model = std::move(read.model);
  parts.word_piece = read.word_piece;
  parts.bpe = read.bpe;
  const TextStepChanges changes{.bert = config.bert, .lowercase_first = lowercase_first};
  parts.steps = TRY(read_text_steps(root.find("normalizer"), root.find("pre_tokenizer"), changes));
  parts.added_tokens = TRY(collect_added_tokens(root.find("added_tokens"), config, *parts.model));
  if (const std::optional<Json> post = root.find("post_processor")) parts.post_processor = TRY(read_post_processor(*post));
  parts.decoder = TRY(TokenDecoder::read(root.find("decoder")));
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
  parts.decoder = TokenDecoder::word_piece();
  parts.steps = bert_text_steps(options);
  Vocabulary vocabulary = TRY(read_vocab_text(path));
  const int32_t cls = TRY(find_special(vocabulary, config.cls_token));
  const int32_t sep = TRY(find_special(vocabulary, config.sep_token));
  parts.post_processor =
      config.family == TokenizerFamily::kMpnet ? roberta_post_processor(cls, sep) : bert_post_processor(cls, sep);
  if (config.family == TokenizerFamily::kMpnet) parts.post_processor.trims.push_back({.adds_prefix_space = false});
  const WordPieceOptions word_piece{.unknown_token = config.unknown_token};
  std::unique_ptr<WordPiece> model =
      std::make_unique<WordPiece>(TRY(WordPiece::build(std::move(vocabulary), word_piece).map_error(within("vocab.txt"))));
  parts.word_piece = model.get();
  parts.model = std::move(model);
  parts.added_tokens = TRY(collect_added_tokens(std::nullopt, config, *parts.model));
  return parts;
}

}  // namespace

Result<TokenizerParts> read_tokenizer_files(const std::filesystem::path& folder, bool lowercase_first) {
  std::error_code error;
  const auto has = [&](std::string_view name) { return std::filesystem::exists(folder / name, error); };
  const bool has_json = has("tokenizer.json");
  TokenizerConfig config = TRY(read_tokenizer_config(folder, has_json));
  const std::optional<int> model_max_length = config.model_max_length;
  const std::filesystem::path sentencepiece = find_sentencepiece(folder);
  TokenizerParts parts;
  if (has_json) {
    parts = TRY(read_json_tokenizer(folder / "tokenizer.json", config, lowercase_first));
  } else if (!sentencepiece.empty()) {
    parts = TRY(read_sentencepiece_tokenizer(sentencepiece, config));
  } else if (has("vocab.json") && has("merges.txt")) {
    parts = TRY(read_merges_tokenizer(folder, config));
  } else if (has("vocab.txt")) {
    parts = TRY(read_text_tokenizer(folder / "vocab.txt", std::move(config), lowercase_first));
  } else {
    return fail(
        ErrorCode::kNotFound,
        "{}: found no tokenizer: neither tokenizer.json nor a sentencepiece model, vocab.json with merges.txt, or vocab.txt",
        folder.string());
  }
  if (lowercase_first && !has_json && parts.word_piece == nullptr) {
    parts.steps.normalizers.insert(parts.steps.normalizers.begin(), std::make_unique<LowercaseNormalizer>());
  }
  parts.model_max_length = model_max_length;
  return parts;
}

}  // namespace inlay
