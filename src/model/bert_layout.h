// How the families of BERT's design differ: names of tensors, where positions start, which layers share weights.
#pragma once

#include <string>
#include <string_view>

#include "model/model_spec.h"

namespace inlay {

// Names are without the prefix of the checkpoint. Those of a layer follow its own prefix; linear layers and norms are without
// ".weight" and ".bias".
struct BertLayout {
  std::string_view model_type = "bert";
  std::string_view words = "embeddings.word_embeddings.weight";
  std::string_view positions = "embeddings.position_embeddings.weight";
  std::string_view types = "embeddings.token_type_embeddings.weight";  // "" for a family without token types
  std::string_view norm = "embeddings.LayerNorm";
  std::string_view projection = {};            // from embeddings to hidden states, where their sizes differ
  bool always_projects = false;                // even where they do not differ
  std::string_view layers = "encoder.layer.";  // before the number of a layer
  std::string_view query = "attention.self.query";
  std::string_view key = "attention.self.key";
  std::string_view value = "attention.self.value";
  std::string_view output = "attention.output.dense";
  std::string_view attention_norm = "attention.output.LayerNorm";
  std::string_view up = "intermediate.dense";
  std::string_view down = "output.dense";
  std::string_view feed_norm = "output.LayerNorm";
};

// nullptr for another family.
const BertLayout* find_bert_layout(std::string_view model_type);

// The prefix of stored layer number `index`.
std::string bert_layer_prefix(const BertLayout& layout, const EncoderConfig& config, int index);

// How many layers are stored, and which of them runs as number `step`.
int stored_layers(const EncoderConfig& config);
int layer_steps(const EncoderConfig& config);
int layer_of_step(const EncoderConfig& config, int step);

}  // namespace inlay
