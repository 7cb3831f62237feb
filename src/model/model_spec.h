// What a model folder says about its model, read and checked, before any weight is touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/activation.h"

namespace inlay {

// config.json of a BERT-type encoder.
struct EncoderConfig {
  std::string model_type;  // "bert"
  std::vector<std::string> architectures;
  int vocab_size = 0;
  int hidden_size = 0;
  int layers = 0;
  int heads = 0;
  int intermediate_size = 0;
  int max_positions = 0;
  int token_types = 0;
  float layer_norm_eps = 0;
  Activation activation = Activation::kGelu;
  int pad_token_id = 0;
};

enum class Pooling : uint8_t { kCls, kMax, kMean, kMeanSqrtLen, kWeightedMean, kLastToken };

struct PoolingSpec {
  std::vector<Pooling> modes;  // several are concatenated in this order
  bool include_prompt = true;  // false: prompt tokens are left out of pooling
};

struct DenseSpec {
  std::filesystem::path folder;  // its weights hold linear.weight [out, in] and, with bias, linear.bias [out]
  int in_features = 0;
  int out_features = 0;
  bool bias = true;
  Activation activation = Activation::kTanh;
};

struct LayerNormSpec {
  std::filesystem::path folder;  // its weights hold norm.weight and norm.bias
  int dimension = 0;
};

// The modules after the encoder, in the order of modules.json.
struct ModuleSpec {
  enum class Kind : uint8_t { kPooling, kDense, kNormalize, kLayerNorm } kind = Kind::kPooling;
  PoolingSpec pooling;
  DenseSpec dense;
  LayerNormSpec layer_norm;
};

struct ModelSpec {
  std::filesystem::path folder;  // of the encoder: config.json, weights, tokenizer
  EncoderConfig encoder;
  std::vector<ModuleSpec> modules;  // a pooling module is always there
  int max_length = 0;               // tokens, special tokens included
  bool lower_case_first = false;    // sentence_bert_config.json do_lower_case
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;
  std::string similarity = "cosine";  // cosine, dot, euclidean, manhattan
  int dimensions = 0;                 // size of the vectors that come out
  std::vector<std::string> notes;     // defaults taken, for the log and `inspect`
};

// Reads config.json, modules.json (old and new type names), the module folders, sentence_bert_config.json,
// config_sentence_transformers.json and tokenizer_config.json. Without modules.json: mean pooling, no normalisation, as
// sentence-transformers does, and a note that says so.
Result<ModelSpec> read_model_spec(const std::filesystem::path& folder);

// "mean", "cls", ...; for flags, config files and messages.
std::string_view pooling_name(Pooling pooling);
std::optional<Pooling> pooling_from_name(std::string_view name);
std::string_view activation_name(Activation activation);

}  // namespace inlay
