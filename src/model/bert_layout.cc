#include "model/bert_layout.h"

#include <fmt/format.h>

#include <array>

namespace inlay {
namespace {

constexpr BertLayout kDistilBert = {
    .model_type = "distilbert",
    .types = {},
    .layers = "transformer.layer.",
    .query = "attention.q_lin",
    .key = "attention.k_lin",
    .value = "attention.v_lin",
    .output = "attention.out_lin",
    .attention_norm = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .feed_norm = "output_layer_norm",
};

constexpr BertLayout kAlbert = {
    .model_type = "albert",
    .projection = "encoder.embedding_hidden_mapping_in",
    .always_projects = true,
    .layers = "encoder.albert_layer_groups.",
    .query = "attention.query",
    .key = "attention.key",
    .value = "attention.value",
    .output = "attention.dense",
    .attention_norm = "attention.LayerNorm",
    .up = "ffn",
    .down = "ffn_output",
    .feed_norm = "full_layer_layer_norm",
};

constexpr std::array<BertLayout, 7> kBertLayouts = {{
    {.model_type = "bert"},
    {.model_type = "roberta"},
    {.model_type = "xlm-roberta"},
    {.model_type = "camembert"},
    {.model_type = "electra", .projection = "embeddings_project"},
    kDistilBert,
    kAlbert,
}};

}  // namespace

const BertLayout* find_bert_layout(std::string_view model_type) {
  for (const BertLayout& layout : kBertLayouts) {
    if (layout.model_type == model_type) return &layout;
  }
  return nullptr;
}

std::string bert_layer_prefix(const BertLayout& layout, const EncoderConfig& config, int index) {
  if (config.groups == 0) return fmt::format("{}{}.", layout.layers, index);
  return fmt::format("{}{}.albert_layers.{}.", layout.layers, index / config.group_layers, index % config.group_layers);
}

int stored_layers(const EncoderConfig& config) {
  return config.groups > 0 ? config.groups * config.group_layers : config.layers;
}

int layer_steps(const EncoderConfig& config) { return config.layers * config.group_layers; }

int layer_of_step(const EncoderConfig& config, int step) {
  if (config.groups == 0) return step;
  const int group = static_cast<int>(int64_t{step / config.group_layers} * config.groups / config.layers);
  return group * config.group_layers + step % config.group_layers;
}

}  // namespace inlay
