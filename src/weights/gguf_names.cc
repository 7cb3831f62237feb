// The names that llama.cpp's converter gives to tensors, and those of the checkpoints that it converts.
#include <array>

#include "weights/gguf.h"

namespace inlay {
namespace {

struct NamePair {
  std::string_view gguf;
  std::string_view checkpoint;
};

// Of a family: names that come once, and names after "blk.N." with the prefix that its checkpoints put before them. Both sides
// go on with ".weight" or ".bias".
struct NameTable {
  std::string_view architecture;
  std::string_view layer_prefix;
  std::span<const NamePair> once;
  std::span<const NamePair> layer;
};

constexpr std::array<NamePair, 6> kBertOnce = {{{"token_embd", "embeddings.word_embeddings"},
                                                {"position_embd", "embeddings.position_embeddings"},
                                                {"token_types", "embeddings.token_type_embeddings"},
                                                {"token_embd_norm", "embeddings.LayerNorm"},
                                                {"cls", "pooler.dense"},
                                                {"cls.output", "classifier"}}};
constexpr std::array<NamePair, 8> kBertLayer = {{{"attn_q", "attention.self.query"},
                                                 {"attn_k", "attention.self.key"},
                                                 {"attn_v", "attention.self.value"},
                                                 {"attn_output", "attention.output.dense"},
                                                 {"attn_output_norm", "attention.output.LayerNorm"},
                                                 {"ffn_up", "intermediate.dense"},
                                                 {"ffn_down", "output.dense"},
                                                 {"layer_output_norm", "output.LayerNorm"}}};
constexpr std::array<NamePair, 3> kNomicOnce = {{{"token_embd", "embeddings.word_embeddings"},
                                                 {"token_types", "embeddings.token_type_embeddings"},
                                                 {"token_embd_norm", "emb_ln"}}};
constexpr std::array<NamePair, 7> kNomicLayer = {{{"attn_qkv", "attn.Wqkv"},
                                                  {"attn_output", "attn.out_proj"},
                                                  {"attn_output_norm", "norm1"},
                                                  {"ffn_up", "mlp.fc11"},
                                                  {"ffn_gate", "mlp.fc12"},
                                                  {"ffn_down", "mlp.fc2"},
                                                  {"layer_output_norm", "norm2"}}};
constexpr std::array<NamePair, 3> kQwenOnce = {
    {{"token_embd", "embed_tokens"}, {"output_norm", "norm"}, {"output", "lm_head"}}};
constexpr std::array<NamePair, 11> kQwenLayer = {{{"attn_norm", "input_layernorm"},
                                                  {"attn_q", "self_attn.q_proj"},
                                                  {"attn_k", "self_attn.k_proj"},
                                                  {"attn_v", "self_attn.v_proj"},
                                                  {"attn_output", "self_attn.o_proj"},
                                                  {"attn_q_norm", "self_attn.q_norm"},
                                                  {"attn_k_norm", "self_attn.k_norm"},
                                                  {"ffn_norm", "post_attention_layernorm"},
                                                  {"ffn_gate", "mlp.gate_proj"},
                                                  {"ffn_up", "mlp.up_proj"},
                                                  {"ffn_down", "mlp.down_proj"}}};

constexpr std::array<NamePair, 13> kGemmaLayer = {{{"attn_norm", "input_layernorm"},
                                                   {"attn_q", "self_attn.q_proj"},
                                                   {"attn_k", "self_attn.k_proj"},
                                                   {"attn_v", "self_attn.v_proj"},
                                                   {"attn_output", "self_attn.o_proj"},
                                                   {"attn_q_norm", "self_attn.q_norm"},
                                                   {"attn_k_norm", "self_attn.k_norm"},
                                                   {"post_attention_norm", "post_attention_layernorm"},
                                                   {"ffn_norm", "pre_feedforward_layernorm"},
                                                   {"ffn_gate", "mlp.gate_proj"},
                                                   {"ffn_up", "mlp.up_proj"},
                                                   {"ffn_down", "mlp.down_proj"},
                                                   {"post_ffw_norm", "post_feedforward_layernorm"}}};

constexpr std::array<NameTable, 5> kTables = {{{"bert", "encoder.layer.", kBertOnce, kBertLayer},
                                               {"nomic-bert", "encoder.layers.", kNomicOnce, kNomicLayer},
                                               {"qwen2", "layers.", kQwenOnce, kQwenLayer},
                                               {"qwen3", "layers.", kQwenOnce, kQwenLayer},
                                               {"gemma-embedding", "layers.", kQwenOnce, kGemmaLayer}}};

std::optional<std::string_view> lookup(std::span<const NamePair> pairs, std::string_view name) {
  for (const NamePair& pair : pairs) {
    if (pair.gguf == name) return pair.checkpoint;
  }
  return std::nullopt;
}

// Names that the table doesn't have stay as they are.
std::string checkpoint_name(const NameTable& table, const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return name;
  const std::string_view stem = std::string_view(name).substr(0, dot);
  const std::string_view ending = std::string_view(name).substr(dot);
  if (const std::optional<std::string_view> once = lookup(table.once, stem)) return fmt::format("{}{}", *once, ending);
  constexpr std::string_view kLayer = "blk.";
  const size_t number_end = stem.find('.', kLayer.size());
  if (!stem.starts_with(kLayer) || number_end == std::string_view::npos) return name;
  const std::optional<std::string_view> part = lookup(table.layer, stem.substr(number_end + 1));
  if (!part) return name;
  return fmt::format("{}{}.{}{}", table.layer_prefix, stem.substr(kLayer.size(), number_end - kLayer.size()), *part, ending);
}

}  // namespace

Result<> rename_gguf_tensors(GgufFile& file, std::string_view name) {
  std::string known;
  for (const NameTable& table : kTables) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", table.architecture);
    if (table.architecture != file.architecture()) continue;
    for (StoredTensor& tensor : file.tensors) tensor.name = checkpoint_name(table, tensor.name);
    return {};
  }
  return fail(ErrorCode::kUnsupported, "{}: general.architecture: found '{}', supported: {}", name,
              file.architecture().substr(0, 200), known);
}

}  // namespace inlay
