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
#include "model/output.h"
#include "model/transformer_config.h"

namespace inlay {

// config.json of an encoder.
struct EncoderConfig {
  std::string model_type;  // "bert"; of a family that shares its model_type with another one our name for it
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
  int embedding_size = 0;  // of the embedding tables, which ALBERT and ELECTRA keep narrower than the hidden states
  // The position of a text's first token. The RoBERTa family counts from pad_token_id + 1, and leaves padding tokens out.
  int first_position = 0;
  int groups = 0;        // ALBERT: layers share the weights of this many groups; 0: each has its own
  int group_layers = 1;  // layers in a group

  TransformerConfig transformer;  // of all but BERT

  // The longest text.
  int usable_positions() const { return max_positions - first_position; }
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

// What makes a score of a logit.
enum class ScoreActivation : uint8_t { kIdentity, kSigmoid, kSoftmax };

// A language model that judges texts by the word it would say next (Qwen3's rerankers): the score is the logit of one token,
// less that of another one.
struct LogitScoreSpec {
  std::string true_token = "yes", false_token = "no";  // looked up in the vocabulary where no id is given
  std::optional<int> true_id = {}, false_id = {};
  bool has_false = true;
  // What is put together: prefix, then the instruction, the query and the text, then suffix. The middle alone is cut.
  std::string prefix = {}, suffix = {}, instruction = {};
};

// A folder for sequence classification: a cross-encoder if it has one label.
struct ClassifierSpec {
  std::vector<std::string> labels;  // by logit; at least one
  // What the folder says about its scores, or sentence-transformers' choice: sigmoid for one label, else the logits.
  ScoreActivation activation = ScoreActivation::kIdentity;
  // What makes probabilities: sigmoid for one label or labels that do not exclude each other, else softmax.
  ScoreActivation probability = ScoreActivation::kSigmoid;
  // What families leave to config.json.
  bool pools_mean = false;                           // over all tokens, rather than taking the first: ModernBERT
  std::optional<Activation> hidden_activation = {};  // of the head's hidden layer
  std::optional<int> padding = {};                   // decoders read the last token that is not this one
  std::optional<LogitScoreSpec> logit_score = {};    // in place of a head
};

// A folder that weighs words of the vocabulary.
struct SparseSpec {
  enum class Source : uint8_t {
    kMaskedLm,      // SPLADE: the masked language model's logits z, log(1 + relu(z)) over all tokens
    kTokenWeights,  // bge-m3: a weight for each token of the text
  };
  Source source = Source::kMaskedLm;
  // kMaskedLm.
  bool is_sum = false;      // over tokens; else the largest counts
  bool logs_twice = false;  // log(1 + log(1 + relu(z)))
  // kTokenWeights.
  std::filesystem::path weights = {};      // file with weight [1, hidden] and bias [1]
  std::vector<std::string> left_out = {};  // tokens that get no weight: the special ones
};

// Queries are filled up with a token (query expansion): what its vectors come to stands for words that the query leaves out.
struct QueryFill {
  int length = 32;                       // tokens that a query has at least, special ones included
  bool cuts = true;                      // longer queries are cut to that
  bool is_seen = false;                  // whether attention sees the filled tokens; they see the others in any case
  std::vector<std::string> tokens = {};  // the first of these that the vocabulary has fills
};

// A folder that makes a vector of each token, for late interaction.
struct TokenSpec {
  std::optional<int> query_length = {}, document_length = {};  // most tokens, where they differ from other texts'
  std::optional<QueryFill> fill = {};
  std::vector<ModuleSpec> modules = {};   // kDense, kLayerNorm and kNormalize, on each token
  std::filesystem::path weights = {};     // before them, a file with weight [columns, hidden] and bias
  bool is_inline = false;                 // or linear.weight [columns, hidden] among those of the encoder
  bool leaves_out_first = false;          // the first token gets no vector
  bool has_mask = false;                  // a module says which tokens get vectors
  std::vector<std::string> skipped = {};  // tokens that get no vector
  bool skips_in_queries = false, skips_in_documents = true;
  // Words of the prompts that are one token each, although the tokenizer's files don't say so.
  std::vector<std::string> markers = {};
};

struct ModelSpec {
  std::filesystem::path folder;  // of the encoder: config.json, weights, tokenizer
  EncoderConfig encoder;
  std::vector<ModuleSpec> modules;  // a pooling module is always there
  // What the folder was made for. A vector is given if a folder has modules that make one, or no head of another kind.
  OutputSet outputs = {OutputKind::kVector, OutputKind::kTokens};
  std::optional<ClassifierSpec> classifier;  // with kScores
  std::optional<SparseSpec> sparse;          // with kSparse
  std::optional<TokenSpec> tokens;           // kTokens gives these instead of hidden states
  int max_length = 0;                        // tokens, special tokens included
  bool lower_case_first = false;             // sentence_bert_config.json do_lower_case
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;
  std::string similarity = "cosine";  // cosine, dot, euclidean, manhattan; of late interaction also maxsim, meanmaxsim
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
