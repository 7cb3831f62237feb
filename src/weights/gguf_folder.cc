#include "weights/gguf_folder.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/json_writer.h"
#include "weights/gguf_tokenizer.h"

namespace inlay {
namespace {

class FolderWriter {
 public:
  FolderWriter(const GgufFile& file, std::string_view name)
      : file_(file), name_(name), prefix_(fmt::format("{}.", file.architecture())) {}

  Result<std::map<std::string, std::string>> write() {
    files_["config.json"] = TRY(config());
    TRY_VOID(write_modules());
    files_.merge(TRY(gguf_tokenizer_files(file_, name_)));
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
    } else if (architecture == "gemma-embedding") {
      TRY_VOID(put_gemma(json));
    } else {
      return fail(ErrorCode::kUnsupported,
                  "{}: general.architecture: found '{}', supported: bert, nomic-bert, qwen2, qwen3, gemma-embedding", name_,
                  architecture.substr(0, 200));
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

  // A model_type of our own, since the file's norms are not those of a checkpoint.
  Result<> put_gemma(JsonWriter& json) {
    const int64_t heads = TRY(integer("attention.head_count"));
    const int64_t head_size = TRY(integer("attention.key_length"));
    json.key("model_type").value("gemma-embedding").key("architectures").begin_array().value("Gemma3TextModel").end_array();
    json.key("hidden_activation").value("gelu_pytorch_tanh").key("vocab_size").value(TRY(rows("token_embd.weight")));
    json.key("hidden_size").value(TRY(integer("embedding_length"))).key("num_hidden_layers").value(TRY(integer("block_count")));
    json.key("num_attention_heads").value(heads).key("head_dim").value(head_size).key("query_pre_attn_scalar").value(head_size);
    json.key("num_key_value_heads").value(file_.integer(prefix_ + "attention.head_count_kv").value_or(heads));
    json.key("intermediate_size").value(TRY(integer("feed_forward_length")));
    json.key("max_position_embeddings").value(TRY(integer("context_length")));
    json.key("rms_norm_eps").value(TRY(real("attention.layer_norm_rms_epsilon")));
    json.key("rope_theta").value(file_.real(prefix_ + "rope.freq_base").value_or(1e6));
    json.key("rope_local_base_freq").value(file_.real(prefix_ + "rope.freq_base_swa").value_or(1e4));
    json.key("sliding_window").value(TRY(integer("attention.sliding_window")));
    json.key("sliding_window_pattern").value(file_.integer(prefix_ + "attention.sliding_window_pattern").value_or(6));
    json.key("use_bidirectional_attention").value(!file_.flag(prefix_ + "attention.causal").value_or(false));
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

  const GgufFile& file_;
  std::string_view name_;
  std::string prefix_;
  std::map<std::string, std::string> files_;
};

}  // namespace

Result<std::map<std::string, std::string>> gguf_folder_files(const GgufFile& file, std::string_view name) {
  return FolderWriter(file, name).write();
}

}  // namespace inlay
