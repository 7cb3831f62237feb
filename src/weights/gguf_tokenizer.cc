#include "weights/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "base/json_writer.h"

namespace inlay {
namespace {

constexpr std::string_view kWordStart = "\xe2\x96\x81";  // the mark that converters put where WordPiece has no "##"

// Kinds of tokens, numbered as in sentencepiece.
constexpr int kNormalToken = 1;
constexpr int kControlToken = 3;
constexpr int kUserToken = 4;
constexpr int kUnusedToken = 5;

// How a byte-level BPE cuts text. llama.cpp knows it by the name alone.
struct ByteSplit {
  std::string_view name;
  std::string_view regex;  // JSON text; empty: GPT-2's own, which ByteLevel has
  bool composes = false;   // NFC goes before
  bool ignores_merges = false;
  bool is_roberta = false;  // texts stand between special tokens unless the file says otherwise
};

constexpr std::string_view kQwenRegex =
    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")";
constexpr std::string_view kLlamaRegex =
    R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")";

constexpr std::array<ByteSplit, 6> kByteSplits = {{{.name = "gpt-2", .regex = ""},
                                                   {.name = "roberta-bpe", .regex = "", .is_roberta = true},
                                                   {.name = "qwen2", .regex = kQwenRegex, .composes = true},
                                                   {.name = "deepseek-r1-qwen", .regex = kQwenRegex, .composes = true},
                                                   {.name = "llama-bpe", .regex = kLlamaRegex, .ignores_merges = true},
                                                   {.name = "llama3", .regex = kLlamaRegex, .ignores_merges = true}}};

std::string base64(std::span<const float> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      const bool is_there = i + j < bytes.size();
      group = group << 8 | (is_there ? static_cast<uint32_t>(static_cast<int>(bytes[i + j])) & 255U : 0U);
    }
    for (size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

void put_number(std::string& out, uint32_t field, uint64_t value) {
  put_varint(out, uint64_t{field} << 3);
  put_varint(out, value);
}

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, uint64_t{field} << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

class TokenizerWriter {
 public:
  TokenizerWriter(const GgufFile& file, std::string_view name)
      : file_(file),
        name_(name),
        tokens_(file.texts("tokenizer.ggml.tokens")),
        types_(file.numbers("tokenizer.ggml.token_type")),
        scores_(file.numbers("tokenizer.ggml.scores")) {}

  Result<std::map<std::string, std::string>> write() {
    const std::string_view kind = file_.text("tokenizer.ggml.model").value_or("");
    files_["tokenizer_config.json"] = R"({"tokenizer_class":"PreTrainedTokenizerFast"})";
    if (kind == "bert") {
      TRY_VOID(write_word_piece());
    } else if (kind == "gpt2") {
      TRY_VOID(write_byte_bpe());
    } else if (kind == "t5") {
      TRY_VOID(write_unigram());
    } else if (kind == "llama") {
      TRY_VOID(write_sentencepiece());
    } else {
      files_.clear();
    }
    return std::move(files_);
  }

 private:
  tl::unexpected<Error> missing(std::string_view key) const {
    return fail(ErrorCode::kCorrupt, "{}: '{}' is missing or of another type", name_, key);
  }

  int type_of(size_t id) const { return id < types_.size() ? static_cast<int>(types_[id]) : kNormalToken; }
  bool flag(std::string_view key, bool fallback) const {
    return file_.flag(fmt::format("tokenizer.ggml.{}", key)).value_or(fallback);
  }

  // The id that a fact gives, if the vocabulary has it.
  std::optional<size_t> special_id(std::string_view key) const {
    const std::optional<int64_t> id = file_.integer(fmt::format("tokenizer.ggml.{}_token_id", key));
    if (!id || *id < 0 || static_cast<uint64_t>(*id) >= tokens_.size()) return std::nullopt;
    return static_cast<size_t>(*id);
  }
  std::optional<size_t> special_id(std::string_view key, std::string_view other) const {
    const std::optional<size_t> id = special_id(key);
    return id ? id : special_id(other);
  }
  // "cls" and "seperator", whose key is spelt so, are what older files call "bos" and "eos".
  std::optional<size_t> first_id() const { return special_id("cls", "bos"); }
  std::optional<size_t> last_id() const { return special_id("seperator", "eos"); }

  std::unordered_set<size_t> special_ids() const {
    std::unordered_set<size_t> ids;
    for (const char* key : {"padding", "unknown", "cls", "bos", "seperator", "eos", "mask"}) {
      if (const std::optional<size_t> id = special_id(key)) ids.insert(*id);
    }
    return ids;
  }

  template <class Texts>
  void begin_json(JsonWriter& json, const Texts& texts) const {
    json.begin_object().key("version").value("1.0").key("added_tokens").begin_array();
    const std::unordered_set<size_t> special = special_ids();
    for (size_t id = 0; id < texts.size(); ++id) {
      const bool is_special = special.contains(id) || type_of(id) == kControlToken;
      if ((is_special || type_of(id) == kUserToken) && !texts[id].empty()) put_added(json, id, texts[id], is_special);
    }
    json.end_array();
  }

  static void put_added(JsonWriter& json, size_t id, std::string_view text, bool is_special) {
    json.begin_object().key("id").value(static_cast<int64_t>(id)).key("content").value(text);
    for (const char* key : {"single_word", "rstrip", "normalized"}) json.key(key).value(false);
    // RoBERTa's and XLM-RoBERTa's token takes the space before it along.
    json.key("lstrip").value(text == "<mask>").key("special").value(is_special).end_object();
  }

  template <class Texts>
  static void put_vocabulary(JsonWriter& json, const Texts& texts) {
    std::unordered_set<std::string_view> seen;
    json.key("vocab").begin_object();
    for (size_t id = 0; id < texts.size(); ++id) {
      if (seen.insert(texts[id]).second) json.key(texts[id]).value(static_cast<int64_t>(id));
    }
    json.end_object();
  }

  template <class Texts>
  static void put_processor(JsonWriter& json, std::string_view type, const Texts& texts, size_t cls, size_t sep) {
    json.key("post_processor").begin_object().key("type").value(type);
    json.key("sep").begin_array().value(texts[sep]).value(static_cast<int64_t>(sep)).end_array();
    json.key("cls").begin_array().value(texts[cls]).value(static_cast<int64_t>(cls)).end_array();
    if (type == "RobertaProcessing") json.key("trim_offsets").value(true).key("add_prefix_space").value(false);
    json.end_object();
  }

  // `begin` and `end` around each text, where they are given.
  void put_template(JsonWriter& json, std::optional<size_t> begin, std::optional<size_t> end) const {
    const auto put_text = [&](std::string_view sequence, int type) {
      if (begin) put_piece(json, "SpecialToken", tokens_[*begin], type);
      put_piece(json, "Sequence", sequence, type);
      if (end) put_piece(json, "SpecialToken", tokens_[*end], type);
    };
    json.key("post_processor").begin_object().key("type").value("TemplateProcessing").key("single").begin_array();
    put_text("A", 0);
    json.end_array().key("pair").begin_array();
    put_text("A", 0);
    put_text("B", 1);
    json.end_array().key("special_tokens").begin_object();
    for (const std::optional<size_t>& id : {begin, begin == end ? std::nullopt : end}) {
      if (!id) continue;
      json.key(tokens_[*id]).begin_object().key("id").value(tokens_[*id]).key("ids").begin_array();
      json.value(static_cast<int64_t>(*id))
          .end_array()
          .key("tokens")
          .begin_array()
          .value(tokens_[*id])
          .end_array()
          .end_object();
    }
    json.end_object().end_object();
  }
  static void put_piece(JsonWriter& json, std::string_view kind, std::string_view id, int type) {
    json.begin_object().key(kind).begin_object().key("id").value(id).key("type_id").value(type).end_object().end_object();
  }

  // Converters write "##ing" as "ing" and "sing" with a mark before it; special tokens stay.
  std::vector<std::string> word_pieces() const {
    std::vector<std::string> pieces;
    pieces.reserve(tokens_.size());
    for (size_t id = 0; id < tokens_.size(); ++id) {
      const std::string_view token = tokens_[id];
      const bool is_bracketed = token.size() > 2 && token.starts_with('[') && token.ends_with(']');
      if (token.starts_with(kWordStart)) {
        pieces.emplace_back(token.substr(kWordStart.size()));
      } else {
        pieces.push_back(is_bracketed || type_of(id) == kControlToken ? std::string(token) : fmt::format("##{}", token));
      }
    }
    return pieces;
  }

  static bool has_capitals(const std::vector<std::string>& pieces) {
    for (const std::string& piece : pieces) {
      if (piece.starts_with('[')) continue;
      if (std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) return true;
    }
    return false;
  }

  Result<> write_word_piece() {
    const std::vector<std::string> pieces = word_pieces();
    const std::optional<size_t> unknown = special_id("unknown");
    const std::optional<size_t> cls = first_id();
    const std::optional<size_t> sep = last_id();
    if (!unknown || !cls || !sep) return missing("tokenizer.ggml: unknown, cls or seperator token");
    JsonWriter json;
    begin_json(json, pieces);
    // A vocabulary with capitals can only be of a model that tells them apart; the file has no other sign of it.
    json.key("normalizer").begin_object().key("type").value("BertNormalizer").key("clean_text").value(true);
    json.key("handle_chinese_chars").value(true).key("strip_accents").null().key("lowercase").value(!has_capitals(pieces));
    json.end_object().key("pre_tokenizer").begin_object().key("type").value("BertPreTokenizer").end_object();
    put_processor(json, "BertProcessing", pieces, *cls, *sep);
    json.key("model").begin_object().key("type").value("WordPiece").key("unk_token").value(pieces[*unknown]);
    json.key("continuing_subword_prefix").value("##").key("max_input_chars_per_word").value(100);
    put_vocabulary(json, pieces);
    files_["tokenizer.json"] = json.end_object().end_object().take();
    return {};
  }

  Result<const ByteSplit*> byte_split() const {
    const std::string_view pre = file_.text("tokenizer.ggml.pre").value_or("");
    std::string known;
    for (const ByteSplit& split : kByteSplits) {
      if (split.name == pre) return &split;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", split.name);
    }
    return fail(ErrorCode::kUnsupported,
                "{}: tokenizer.ggml.pre: found '{}', supported: {}; the model's tokenizer.json beside the "
                "file is taken instead",
                name_, pre.substr(0, 200), known);
  }

  Result<> write_byte_bpe() {
    const ByteSplit* split = TRY(byte_split());
    const std::span<const std::string_view> merges = file_.texts("tokenizer.ggml.merges");
    if (tokens_.empty() || merges.empty()) return missing("tokenizer.ggml.tokens or merges");
    JsonWriter json;
    begin_json(json, tokens_);
    if (split->composes) json.key("normalizer").raw(R"({"type":"NFC"})");
    const std::string bytes = fmt::format(
        R"({{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":{}}})", split->regex.empty());
    constexpr std::string_view kCut =
        R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},"behavior":"Isolated","invert":false}},{}]}})";
    json.key("pre_tokenizer").raw(split->regex.empty() ? bytes : fmt::format(fmt::runtime(kCut), split->regex, bytes));
    std::optional<size_t> begin;
    std::optional<size_t> end;
    if (flag("add_bos_token", split->is_roberta)) begin = special_id("bos", "cls");
    if (flag("add_eos_token", split->is_roberta)) end = special_id("eos", "seperator");
    if (!end && flag("add_sep_token", split->is_roberta)) end = last_id();
    if (split->is_roberta && begin && end) {
      put_processor(json, "RobertaProcessing", tokens_, *begin, *end);
    } else {
      put_template(json, begin, end);
    }
    json.key("decoder").raw(bytes).key("model").begin_object().key("type").value("BPE");
    json.key("ignore_merges").value(split->ignores_merges);
    put_vocabulary(json, tokens_);
    json.key("merges").begin_array();
    for (const std::string_view merge : merges) json.value(merge);
    files_["tokenizer.json"] = json.end_array().end_object().end_object().take();
    return {};
  }

  // The score of a token that no text may become is no part of the model.
  float score_of(size_t id) const {
    const bool counts = type_of(id) != kUnusedToken && std::isfinite(scores_[id]);
    return counts ? scores_[id] : 0.0F;
  }

  Result<> write_unigram() {
    const std::optional<size_t> unknown = special_id("unknown");
    const std::optional<size_t> end = last_id();
    if (tokens_.empty() || scores_.size() != tokens_.size()) return missing("tokenizer.ggml.tokens or scores");
    if (!unknown || !end) return missing("tokenizer.ggml: unknown or eos token");
    JsonWriter json;
    begin_json(json, tokens_);
    const std::span<const float> charsmap = file_.numbers("tokenizer.ggml.precompiled_charsmap");
    if (!charsmap.empty()) {
      json.key("normalizer").begin_object().key("type").value("Precompiled");
      json.key("precompiled_charsmap").value(base64(charsmap)).end_object();
    }
    constexpr std::string_view kSteps =
        R"({{"type":"Sequence","pretokenizers":[{{"type":"WhitespaceSplit"}},{{"type":"Metaspace","replacement":"▁","prepend_scheme":"{}"}}]}})";
    const std::string_view scheme = flag("add_space_prefix", true) ? "always" : "never";
    json.key("pre_tokenizer").raw(fmt::format(fmt::runtime(kSteps), scheme));
    const std::optional<size_t> begin = first_id();
    if (begin && !file_.architecture().starts_with("t5")) {
      put_processor(json, "RobertaProcessing", tokens_, *begin, *end);
    } else {
      put_template(json, std::nullopt, end);
    }
    json.key("decoder").raw(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})");
    json.key("model").begin_object().key("type").value("Unigram").key("unk_id").value(static_cast<int64_t>(*unknown));
    json.key("vocab").begin_array();
    for (size_t id = 0; id < tokens_.size(); ++id) json.begin_array().value(tokens_[id]).value(score_of(id)).end_array();
    files_["tokenizer.json"] = json.end_array().end_object().end_object().take();
    return {};
  }

  // sentencepiece's own file, of which the tokenizer derives the merges.
  Result<> write_sentencepiece() {
    const std::optional<size_t> unknown = special_id("unknown");
    if (tokens_.empty() || scores_.size() != tokens_.size()) return missing("tokenizer.ggml.tokens or scores");
    if (!unknown) return missing("tokenizer.ggml.unknown_token_id");
    std::string model;
    for (size_t id = 0; id < tokens_.size(); ++id) {
      std::string piece;
      put_bytes(piece, 1, tokens_[id]);
      const uint32_t score = std::bit_cast<uint32_t>(scores_[id]);
      piece += '\x15';  // field 2, 32 bits
      for (int shift = 0; shift < 32; shift += 8) piece += static_cast<char>(score >> shift & 255);
      put_number(piece, 3, static_cast<uint64_t>(std::clamp(type_of(id), 1, 6)));
      put_bytes(model, 1, piece);
    }
    std::string trainer;
    put_number(trainer, 3, 2);
    put_number(trainer, 35, 1);
    put_number(trainer, 40, *unknown);
    put_bytes(trainer, 45, tokens_[*unknown]);
    put_bytes(model, 2, trainer);
    files_["tokenizer.model"] = std::move(model);
    write_sentencepiece_config();
    return {};
  }

  void write_sentencepiece_config() {
    JsonWriter json;
    const bool is_gemma = file_.architecture().starts_with("gemma");
    json.begin_object().key("tokenizer_class").value(is_gemma ? "GemmaTokenizer" : "LlamaTokenizer");
    json.key("add_bos_token").value(flag("add_bos_token", true)).key("add_eos_token").value(flag("add_eos_token", false));
    if (!is_gemma) json.key("legacy").value(false).key("add_prefix_space").value(flag("add_space_prefix", true));
    constexpr std::array<std::array<const char*, 2>, 5> kNamed = {{{"bos", "bos_token"},
                                                                   {"eos", "eos_token"},
                                                                   {"unknown", "unk_token"},
                                                                   {"padding", "pad_token"},
                                                                   {"mask", "mask_token"}}};
    for (const std::array<const char*, 2>& named : kNamed) {
      if (const std::optional<size_t> id = special_id(named[0])) json.key(named[1]).value(tokens_[*id]);
    }
    files_["tokenizer_config.json"] = json.end_object().take();
  }

  const GgufFile& file_;
  std::string_view name_;
  std::span<const std::string_view> tokens_;
  std::span<const float> types_;
  std::span<const float> scores_;
  std::map<std::string, std::string> files_;
};

}  // namespace

Result<std::map<std::string, std::string>> gguf_tokenizer_files(const GgufFile& file, std::string_view name) {
  return TokenizerWriter(file, name).write();
}

}  // namespace inlay
