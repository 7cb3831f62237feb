#include "tokenizer/piece_files.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tokenizer/added_token_list.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/model_json.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/unigram.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

constexpr uint64_t kMaxFileBytes = 64U << 20;

constexpr std::string_view kGemmaSplit =
    R"({"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false})";
constexpr std::string_view kMarkSpaces = R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})";

// The steps of a class, as tokenizer.json would spell them; the charsmap follows the normalizers.
struct Recipe {
  std::string normalizers = {};
  std::string pre_tokenizer = {};
  bool uses_charsmap = true;
};

std::string metaspace(std::string_view scheme, bool splits = true) {
  return fmt::format(R"({{"type":"Metaspace","replacement":"▁","prepend_scheme":"{}","split":{}}})", scheme, splits);
}

std::string before_metaspace(std::string_view step, std::string_view scheme) {
  return fmt::format(R"({{"type":"Sequence","pretokenizers":[{},{}]}})", step, metaspace(scheme));
}

Recipe deberta_recipe(const TokenizerConfig& config) {
  constexpr std::string_view kSteps =
      R"({"type":"Replace","pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" "},{"type":"NFC"},)"
      R"({"type":"Strip","strip_left":false,"strip_right":true})";
  const SentencepieceFlags& flags = config.sentencepiece;
  const std::string_view scheme = config.adds_prefix_space.value_or(true) ? "always" : "first";
  return {.normalizers = (flags.lowercase.value_or(false) ? R"({"type":"Lowercase"},)" : "") + std::string(kSteps),
          .pre_tokenizer = flags.splits_punctuation
                               ? before_metaspace(R"({"type":"Punctuation","behavior":"Isolated"})", scheme)
                               : metaspace(scheme),
          .uses_charsmap = false};
}

std::string albert_normalizers(const SentencepieceFlags& flags) {
  std::string steps = R"({"type":"Replace","pattern":{"String":"``"},"content":"\""},)"
                      R"({"type":"Replace","pattern":{"String":"''"},"content":"\""})";
  if (!flags.keeps_accents) steps += R"(,{"type":"NFKD"},{"type":"StripAccents"})";
  if (flags.lowercase.value_or(true)) steps += R"(,{"type":"Lowercase"})";
  return steps;
}

Recipe recipe_of(const TokenizerConfig& config) {
  switch (config.family) {
    case TokenizerFamily::kDeberta: return deberta_recipe(config);
    case TokenizerFamily::kLlama: {
      const bool adds_prefix = config.adds_prefix_space.value_or(true);
      const std::string_view scheme = !adds_prefix ? "never" : config.sentencepiece.is_legacy ? "always" : "first";
      return {.pre_tokenizer = metaspace(scheme, false), .uses_charsmap = false};
    }
    case TokenizerFamily::kGemma:
      return {.normalizers = std::string(kMarkSpaces), .pre_tokenizer = std::string(kGemmaSplit), .uses_charsmap = false};
    default: {
      // T5's class knows no prefix.
      const bool adds_prefix = config.family == TokenizerFamily::kT5 || config.adds_prefix_space.value_or(true);
      return {.normalizers = config.family == TokenizerFamily::kAlbert ? albert_normalizers(config.sentencepiece) : "",
              .pre_tokenizer = before_metaspace(R"({"type":"WhitespaceSplit"})", adds_prefix ? "always" : "never")};
    }
  }
}

Result<Normalizers> make_normalizers(const std::string& list) {
  if (list.empty()) return Normalizers();
  const JsonDocument document = TRY(JsonDocument::parse(R"({"type":"Sequence","normalizers":[)" + list + "]}", "normalizer"));
  return TRY(read_text_steps(document.root(), std::nullopt, {})).normalizers;
}

Result<TextSteps> make_steps(const Recipe& recipe, const std::string& charsmap) {
  const JsonDocument document = TRY(JsonDocument::parse(recipe.pre_tokenizer, "pre_tokenizer"));
  TextSteps steps = TRY(read_text_steps(std::nullopt, document.root(), {}));
  steps.normalizers = TRY(make_normalizers(recipe.normalizers));
  if (recipe.uses_charsmap && !charsmap.empty()) {
    steps.normalizers.push_back(std::make_unique<CharsmapNormalizer>(TRY(Charsmap::parse(charsmap))));
  }
  return steps;
}

// The special tokens that fairseq's models have before and behind the pieces of sentencepiece, and those of T5.
void change_pieces(const TokenizerConfig& config, SentencepieceModel& model) {
  std::vector<SentencePiece>& pieces = model.pieces;
  const auto replace_head = [&](size_t count, std::initializer_list<SentencePiece> head) {
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(std::min(count, pieces.size())));
    pieces.insert(pieces.begin(), head.begin(), head.end());
    pieces.push_back({"<mask>", 0, PieceType::kNormal});
    model.unknown_id = 3;
  };
  if (config.family == TokenizerFamily::kXlmRoberta) replace_head(3, {{"<s>"}, {"<pad>"}, {"</s>"}, {"<unk>"}});
  if (config.family == TokenizerFamily::kCamembert) {
    replace_head(1, {{"<s>NOTUSED"}, {"<pad>"}, {"</s>NOTUSED"}, {"<unk>"}, {"<unk>NOTUSED", -100}});
  }
  if (config.family == TokenizerFamily::kT5) {
    for (int64_t i = config.sentencepiece.extra_ids - 1; i >= 0; --i) pieces.push_back({fmt::format("<extra_id_{}>", i)});
  }
  if (config.family == TokenizerFamily::kAlbert) {
    for (SentencePiece& piece : pieces) {
      const size_t size = piece.text.size();
      if (size >= 2 && piece.text[size - 1] == ',' && piece.text[size - 2] >= '0' && piece.text[size - 2] <= '9')
        piece.score -= 100;
    }
  }
}

Result<std::unique_ptr<TokenizerModel>> make_model(const SentencepieceModel& source, bool byte_fallback) {
  if (source.kind == SentencepieceKind::kUnigram) {
    std::vector<Unigram::Entry> entries;
    for (const SentencePiece& piece : source.pieces) entries.emplace_back(piece.text, double{piece.score});
    const UnigramOptions options{.unknown_id = source.unknown_id, .byte_fallback = byte_fallback};
    return std::make_unique<Unigram>(TRY(Unigram::build(entries, options)));
  }
  std::vector<Vocabulary::Entry> entries;
  for (const SentencePiece& piece : source.pieces) entries.emplace_back(piece.text, static_cast<int32_t>(entries.size()));
  Vocabulary vocabulary = TRY(Vocabulary::build(std::move(entries)));
  const std::vector<Bpe::MergePair> merges = TRY(make_merges(source));
  const BpeOptions options{.unknown_token = source.unknown_piece, .fuse_unknown = true, .byte_fallback = byte_fallback};
  return std::make_unique<Bpe>(TRY(Bpe::build(std::move(vocabulary), merges, options)));
}

Result<int32_t> find_token(const TokenizerModel& model, std::string_view token) {
  const std::optional<int32_t> id = model.vocabulary().id_of(token);
  if (!id) return fail(ErrorCode::kCorrupt, "the vocabulary lacks the special token '{}'", token);
  return *id;
}

// `begin` and `end` around each text; a pair's second text has the type given.
PostProcessor around(std::optional<int32_t> begin, std::optional<int32_t> end, int32_t second_type) {
  const auto add = [&](Template& pieces, TemplatePart part, int32_t type) {
    if (begin) pieces.push_back(special_piece(*begin, type));
    pieces.push_back({part, type, {}});
    if (end) pieces.push_back(special_piece(*end, type));
  };
  PostProcessor result{.single = {}, .pair = {}};
  add(result.single, TemplatePart::kFirst, 0);
  add(result.pair, TemplatePart::kFirst, 0);
  add(result.pair, TemplatePart::kSecond, second_type);
  return result;
}

// Of the classes that have no template of their own.
Result<PostProcessor> around_as_configured(const TokenizerConfig& config, const TokenizerModel& model) {
  std::optional<int32_t> begin;
  std::optional<int32_t> end;
  if (config.adds_bos && !config.bos_token.empty()) begin = TRY(find_token(model, config.bos_token));
  if (config.adds_eos && !config.eos_token.empty()) end = TRY(find_token(model, config.eos_token));
  return around(begin, end, 1);
}

Result<PostProcessor> make_post_processor(const TokenizerConfig& config, const TokenizerModel& model) {
  switch (config.family) {
    case TokenizerFamily::kAlbert:
    case TokenizerFamily::kDeberta:
      return bert_post_processor(TRY(find_token(model, config.cls_token)), TRY(find_token(model, config.sep_token)));
    case TokenizerFamily::kT5: return around(std::nullopt, TRY(find_token(model, config.eos_token)), 0);
    case TokenizerFamily::kLlama:
    case TokenizerFamily::kGemma: return around_as_configured(config, model);
    default:
      if (config.cls_token.empty() || config.sep_token.empty()) return PostProcessor{};
      return roberta_post_processor(TRY(find_token(model, config.cls_token)), TRY(find_token(model, config.sep_token)));
  }
}

// Control and user-defined pieces are found in the text as they are, before the special tokens of the configuration.
Result<std::vector<AddedToken>> make_added_tokens(const SentencepieceModel& source, const TokenizerConfig& config,
                                                  const TokenizerModel& model) {
  AddedTokenList list(model);
  const bool is_gemma = config.family == TokenizerFamily::kGemma;
  for (const SentencePiece& piece : source.pieces) {
    if (piece.type != PieceType::kControl && piece.type != PieceType::kUserDefined) continue;
    const bool is_turn = is_gemma && (piece.text == "<start_of_turn>" || piece.text == "<end_of_turn>");
    TRY_VOID(list.add({.content = piece.text, .special = is_turn || piece.type == PieceType::kControl}, false));
  }
  if (config.family == TokenizerFamily::kT5) {
    for (int64_t i = 0; i < config.sentencepiece.extra_ids; ++i) {
      TRY_VOID(list.add({.content = fmt::format("<extra_id_{}>", i), .special = true}, false));
    }
  }
  TRY_VOID(list.add_config(config));
  return list.take();
}

Result<std::vector<Bpe::MergePair>> parse_merges(std::string_view text) {
  std::vector<Bpe::MergePair> merges;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    if (row.ends_with('\r')) row.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.empty()) continue;
    const std::optional<Bpe::MergePair> merge = TRY(split_merge(row).map_error(within(fmt::format("line {}", line))));
    if (merge) merges.push_back(*merge);
  }
  return merges;
}

constexpr std::string_view kQwenSplit =
    R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":)"
    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}})";

Result<TextSteps> make_byte_steps(const TokenizerConfig& config) {
  const bool is_qwen = config.family == TokenizerFamily::kQwen;
  const std::string byte_level =
      fmt::format(R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":true,"use_regex":{}}})",
                  config.adds_prefix_space.value_or(false), !is_qwen);
  const std::string steps =
      is_qwen ? fmt::format(R"({{"type":"Sequence","pretokenizers":[{},{}]}})", kQwenSplit, byte_level) : byte_level;
  const JsonDocument splits = TRY(JsonDocument::parse(steps, "pre_tokenizer"));
  const JsonDocument nfc = TRY(JsonDocument::parse(R"({"type":"NFC"})", "normalizer"));
  return read_text_steps(is_qwen ? std::optional<Json>(nfc.root()) : std::nullopt, splits.root(), {});
}

}  // namespace

std::filesystem::path find_sentencepiece(const std::filesystem::path& folder) {
  std::error_code error;
  for (const std::string_view name :
       {"sentencepiece.bpe.model", "tokenizer.model", "spiece.model", "spm.model", "sentencepiece.model"}) {
    if (std::filesystem::exists(folder / name, error)) return folder / name;
  }
  return {};
}

Result<TokenizerParts> read_sentencepiece_tokenizer(const std::filesystem::path& path, const TokenizerConfig& config) {
  const std::string name = path.filename().string();
  const std::string bytes = TRY(read_file(path, kMaxFileBytes));
  SentencepieceModel source = TRY(parse_sentencepiece(bytes).map_error(within(name)));
  change_pieces(config, source);
  const bool is_byte_class = config.family == TokenizerFamily::kLlama || config.family == TokenizerFamily::kGemma;
  TokenizerParts parts;
  parts.model = TRY(make_model(source, is_byte_class || source.byte_fallback).map_error(within(name)));
  parts.steps = TRY(make_steps(recipe_of(config), source.charsmap).map_error(within(name)));
  parts.post_processor = TRY(make_post_processor(config, *parts.model).map_error(within(name)));
  parts.added_tokens = TRY(make_added_tokens(source, config, *parts.model).map_error(within(name)));
  parts.decoder = is_byte_class ? TokenDecoder::llama(config.family == TokenizerFamily::kLlama) : TokenDecoder::metaspace();
  return parts;
}

Result<TokenizerParts> read_merges_tokenizer(const std::filesystem::path& folder, const TokenizerConfig& config) {
  const JsonDocument document = TRY(JsonDocument::read(folder / "vocab.json", kMaxFileBytes));
  const std::string text = TRY(read_file(folder / "merges.txt", kMaxFileBytes));
  if (!is_valid_utf8(text)) return fail(ErrorCode::kCorrupt, "merges.txt: not valid UTF-8");
  const std::vector<Bpe::MergePair> merges = TRY(parse_merges(text).map_error(within("merges.txt")));
  Vocabulary vocabulary = TRY(read_vocabulary(document.root()));
  std::unique_ptr<Bpe> model =
      std::make_unique<Bpe>(TRY(Bpe::build(std::move(vocabulary), merges, {}).map_error(within("merges.txt"))));
  TokenizerParts parts;
  parts.bpe = model.get();
  parts.model = std::move(model);
  parts.steps = TRY(make_byte_steps(config));
  parts.decoder = TokenDecoder::byte_level();
  if (config.family == TokenizerFamily::kRoberta) {
    parts.post_processor =
        roberta_post_processor(TRY(find_token(*parts.model, config.cls_token).map_error(within("vocab.json"))),
                               TRY(find_token(*parts.model, config.sep_token).map_error(within("vocab.json"))));
    parts.post_processor.trims.push_back({.adds_prefix_space = config.adds_prefix_space.value_or(false)});
  } else {
    parts.post_processor = TRY(around_as_configured(config, *parts.model).map_error(within("vocab.json")));
  }
  AddedTokenList list(*parts.model);
  TRY_VOID(list.add_config(config));
  parts.added_tokens = list.take();
  return parts;
}

}  // namespace inlay
