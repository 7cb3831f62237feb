#include "weights/gguf_folder.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

#include "base/json_writer.h"

namespace inlay {
namespace {

constexpr std::string_view kWordStart = "\xe2\x96\x81";  // the mark that converters put where WordPiece has no "##"
constexpr int kControlToken = 3;

class FolderWriter {
 public:
  FolderWriter(const GgufFile& file, std::string_view name)
      : file_(file), name_(name), prefix_(fmt::format("{}.", file.architecture())) {}

  Result<std::map<std::string, std::string>> write() {
    files_["config.json"] = TRY(config());
    TRY_VOID(write_modules());
    if (file_.text("tokenizer.ggml.model").value_or("") == "bert") TRY_VOID(write_word_piece());
    return std::move(files_);
  }

 private:
  tl::unexpected<Error> missing(std::string_view key) const {
    return fail(ErrorCode::kCorrupt, "{}: '{}' is missing or of another type", name_, key);
  }
  Result<int64_t> integer(std::string_view key) const {
    const std::string full = prefix_ + std::string(key);
    const std::optional<int64_t> value = file_.integer(full);
    if (!value) return missing(full);
    return *value;
  }
  Result<double> real(std::string_view key) const {
    const std::string full = prefix_ + std::string(key);
    const std::optional<double> value = file_.real(full);
    if (!value) return missing(full);
    return *value;
  }
  // Rows of a matrix.
  Result<int64_t> rows(std::string_view tensor) const {
    const StoredTensor* found = file_.tensor(tensor);
    if (found == nullptr || found->shape.size() != 2) {
      return fail(ErrorCode::kCorrupt, "{}: tensor '{}' is missing or no matrix", name_, tensor);
    }
    return found->shape[0];
  }

  Result<std::string> config() {
    JsonWriter json;
    json.begin_object();
    const std::string_view architecture = file_.architecture();
    if (architecture == "bert") {
      TRY_VOID(put_bert(json));
    } else if (architecture == "nomic-bert") {
      TRY_VOID(put_nomic(json));
    } else if (architecture == "qwen2" || architecture == "qwen3") {
      TRY_VOID(put_qwen(json, architecture));
    } else {
      return fail(ErrorCode::kUnsupported, "{}: general.architecture: found '{}', supported: bert, nomic-bert, qwen2, qwen3",
                  name_, architecture.substr(0, 200));
    }
    json.end_object();
    return json.take();
  }

  // RoBERTa and XLM-RoBERTa are converted to "bert" too, without the rows of positions that they never use; what is left is
  // BERT's arithmetic.
  Result<> put_bert(JsonWriter& json) {
    json.key("model_type").value("bert").key("architectures").begin_array().value("BertModel").end_array();
    json.key("hidden_act").value("gelu").key("vocab_size").value(TRY(rows("token_embd.weight")));
    json.key("hidden_size").value(TRY(integer("embedding_length"))).key("num_hidden_layers").value(TRY(integer("block_count")));
    json.key("num_attention_heads").value(TRY(integer("attention.head_count")));
    json.key("intermediate_size").value(TRY(integer("feed_forward_length")));
    json.key("max_position_embeddings").value(TRY(rows("position_embd.weight")));
    json.key("type_vocab_size").value(TRY(rows("token_types.weight")));
    json.key("layer_norm_eps").value(TRY(real("attention.layer_norm_epsilon")));
    return {};
  }

  Result<> put_nomic(JsonWriter& json) {
    json.key("model_type").value("nomic_bert").key("architectures").begin_array().value("NomicBertModel").end_array();
    json.key("activation_function").value("swiglu").key("vocab_size").value(TRY(rows("token_embd.weight")));
    json.key("n_embd").value(TRY(integer("embedding_length"))).key("n_layer").value(TRY(integer("block_count")));
    json.key("n_head").value(TRY(integer("attention.head_count"))).key("n_inner").value(TRY(integer("feed_forward_length")));
    json.key("n_positions").value(TRY(integer("context_length")));
    json.key("type_vocab_size").value(TRY(rows("token_types.weight")));
    json.key("layer_norm_epsilon").value(TRY(real("attention.layer_norm_epsilon")));
    json.key("rotary_emb_base").value(TRY(real("rope.freq_base"))).key("rotary_emb_fraction").value(1.0);
    for (const char* key : {"qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm"}) json.key(key).value(false);
    return {};
  }

  Result<> put_qwen(JsonWriter& json, std::string_view architecture) {
    const int64_t heads = TRY(integer("attention.head_count"));
    const int64_t hidden = TRY(integer("embedding_length"));
    json.key("model_type").value(architecture).key("architectures").begin_array();
    json.value(architecture == "qwen2" ? "Qwen2Model" : "Qwen3Model").end_array();
    json.key("hidden_act").value("silu").key("vocab_size").value(TRY(rows("token_embd.weight")));
    json.key("hidden_size").value(hidden).key("num_hidden_layers").value(TRY(integer("block_count")));
    json.key("num_attention_heads").value(heads);
    json.key("num_key_value_heads").value(file_.integer(prefix_ + "attention.head_count_kv").value_or(heads));
    const std::optional<int64_t> head_size = file_.integer(prefix_ + "attention.key_length");
    json.key("head_dim").value(head_size.value_or(heads > 0 ? hidden / heads : 0));
    json.key("intermediate_size").value(TRY(integer("feed_forward_length")));
    json.key("max_position_embeddings").value(TRY(integer("context_length")));
    json.key("rms_norm_eps").value(TRY(real("attention.layer_norm_rms_epsilon")));
    json.key("rope_theta").value(TRY(real("rope.freq_base"))).key("attention_bias").value(architecture == "qwen2");
    json.key("tie_word_embeddings").value(file_.tensor("output.weight") == nullptr);
    return {};
  }

  Result<std::string_view> pooling() const {
    static constexpr std::array<std::string_view, 4> kNames = {"", "mean", "cls", "lasttoken"};
    const int64_t fallback = file_.architecture().starts_with("qwen") ? 3 : 1;
    const int64_t type = file_.integer(prefix_ + "pooling_type").value_or(fallback);
    if (type >= 1 && type < static_cast<int64_t>(kNames.size())) return kNames[static_cast<size_t>(type)];
    return fail(ErrorCode::kUnsupported, "{}: {}pooling_type: found {}, wanted 1 (mean), 2 (cls) or 3 (last)", name_, prefix_,
                type);
  }

  Result<> write_modules() {
    const std::string_view mode = TRY(pooling());
    JsonWriter modules;
    modules.begin_array();
    int index = 0;
    for (const std::string_view kind : {"Transformer", "Pooling", "Normalize"}) {
      modules.begin_object().key("idx").value(index).key("name").value(fmt::format("{}", index));
      modules.key("path").value(index == 0 ? std::string() : fmt::format("{}_{}", index, kind));
      modules.key("type").value(fmt::format("sentence_transformers.models.{}", kind)).end_object();
      ++index;
    }
    files_["modules.json"] = modules.end_array().take();
    JsonWriter pooling_config;
    pooling_config.begin_object().key("embedding_dimension").value(TRY(integer("embedding_length")));
    files_["1_Pooling/config.json"] = pooling_config.key("pooling_mode").value(mode).end_object().take();
    int64_t length = TRY(integer("context_length"));
    if (file_.architecture() == "bert") length = std::min(length, TRY(rows("position_embd.weight")));
    JsonWriter lengths;
    lengths.begin_object().key("max_seq_length").value(length).key("do_lower_case").value(false).end_object();
    files_["sentence_bert_config.json"] = lengths.take();
    return {};
  }

  // Converters write "##ing" as "ing" and "sing" with a mark before it; special tokens stay.
  std::vector<std::string> word_pieces() const {
    const std::span<const std::string_view> tokens = file_.texts("tokenizer.ggml.tokens");
    const std::span<const float> types = file_.numbers("tokenizer.ggml.token_type");
    std::vector<std::string> pieces;
    pieces.reserve(tokens.size());
    for (size_t id = 0; id < tokens.size(); ++id) {
      const std::string_view token = tokens[id];
      const bool is_bracketed = token.size() > 2 && token.starts_with('[') && token.ends_with(']');
      const bool is_special = is_bracketed || (id < types.size() && static_cast<int>(types[id]) == kControlToken);
      if (token.starts_with(kWordStart)) {
        pieces.emplace_back(token.substr(kWordStart.size()));
      } else {
        pieces.push_back(is_special ? std::string(token) : fmt::format("##{}", token));
      }
    }
    return pieces;
  }

  // The id that a fact gives, if the vocabulary has it.
  std::optional<size_t> special_id(std::string_view key, size_t size) const {
    const std::optional<int64_t> id = file_.integer(fmt::format("tokenizer.ggml.{}_token_id", key));
    if (!id || *id < 0 || static_cast<uint64_t>(*id) >= size) return std::nullopt;
    return static_cast<size_t>(*id);
  }

  Result<> write_word_piece() {
    const std::vector<std::string> pieces = word_pieces();
    const std::optional<size_t> unknown = special_id("unknown", pieces.size());
    std::optional<size_t> cls = special_id("cls", pieces.size());
    if (!cls) cls = special_id("bos", pieces.size());
    std::optional<size_t> sep = special_id("seperator", pieces.size());  // The key is spelt so.
    if (!sep) sep = special_id("eos", pieces.size());
    if (!unknown || !cls || !sep) return missing("tokenizer.ggml: unknown, cls or seperator token");
    JsonWriter json;
    json.begin_object().key("version").value("1.0").key("added_tokens").begin_array();
    for (const char* key : {"padding", "unknown", "cls", "bos", "seperator", "eos", "mask"})
      put_added(json, special_id(key, pieces.size()), pieces);
    // A vocabulary with capitals can only be of a model that tells them apart; the file has no other sign of it.
    json.end_array().key("normalizer").begin_object().key("type").value("BertNormalizer").key("clean_text").value(true);
    json.key("handle_chinese_chars").value(true).key("strip_accents").null().key("lowercase").value(!has_capitals(pieces));
    json.end_object().key("pre_tokenizer").begin_object().key("type").value("BertPreTokenizer").end_object();
    json.key("post_processor").begin_object().key("type").value("BertProcessing");
    json.key("sep").begin_array().value(pieces[*sep]).value(static_cast<int64_t>(*sep)).end_array();
    json.key("cls").begin_array().value(pieces[*cls]).value(static_cast<int64_t>(*cls)).end_array().end_object();
    json.key("model").begin_object().key("type").value("WordPiece").key("unk_token").value(pieces[*unknown]);
    json.key("continuing_subword_prefix").value("##").key("max_input_chars_per_word").value(100).key("vocab").begin_object();
    put_vocabulary(json, pieces);
    files_["tokenizer.json"] = json.end_object().end_object().end_object().take();
    files_["tokenizer_config.json"] = R"({"tokenizer_class":"PreTrainedTokenizerFast"})";
    return {};
  }

  void put_added(JsonWriter& json, std::optional<size_t> id, const std::vector<std::string>& pieces) {
    if (!id || !added_.insert(*id).second) return;
    json.begin_object().key("id").value(static_cast<int64_t>(*id)).key("content").value(pieces[*id]);
    for (const char* key : {"single_word", "lstrip", "rstrip", "normalized"}) json.key(key).value(false);
    json.key("special").value(true).end_object();
  }

  static bool has_capitals(const std::vector<std::string>& pieces) {
    for (const std::string& piece : pieces) {
      if (piece.starts_with('[')) continue;
      for (const char c : piece) {
        if (c >= 'A' && c <= 'Z') return true;
      }
    }
    return false;
  }

  static void put_vocabulary(JsonWriter& json, const std::vector<std::string>& pieces) {
    std::unordered_set<std::string_view> seen;
    for (size_t id = 0; id < pieces.size(); ++id) {
      if (seen.insert(pieces[id]).second) json.key(pieces[id]).value(static_cast<int64_t>(id));
    }
  }

  const GgufFile& file_;
  std::string_view name_;
  std::string prefix_;
  std::map<std::string, std::string> files_;
  std::unordered_set<size_t> added_;
};

}  // namespace

Result<std::map<std::string, std::string>> gguf_folder_files(const GgufFile& file, std::string_view name) {
  return FolderWriter(file, name).write();
}

}  // namespace inlay
