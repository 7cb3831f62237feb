// Inlay's public C++ interface: load a model folder, turn texts into vectors.
//
//   inlay::Result<inlay::Model> model = inlay::Model::load("models/all-MiniLM-L6-v2");
//   if (!model) { std::cerr << model.error().message; return 1; }
//   std::vector<std::string> texts = {"a query", "a document"};
//   for (const inlay::Result<inlay::Vector>& vector : model->embed(texts)) { ... }
//
// Nothing here throws but std::bad_alloc. Vectors of one machine and one dtype are bit-identical whatever else is embedded with
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inlay/error.h"
#include "inlay/outputs.h"

namespace inlay {

using Vector = std::vector<float>;

// The same names as the flags of the command line. Texts values are checked by load().
struct ModelOptions {
  std::string dtype = "auto";                   // auto, float32, bfloat16, float16, int8, int4
  int threads = 0;                              // 0: what CPU affinity and the cgroup grant
  std::optional<int> max_length = {};           // tokens, special tokens included; the model's own limit if not given
  std::string truncate_side = "right";          // right, left, none (then a text that is too long is an error)
  std::optional<std::string> prompt = {};       // put before every text
  std::optional<std::string> prompt_name = {};  // one of the model's prompts
  std::optional<std::string> pooling =
      {};  // cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken, splade; the model's own if not given
  std::string normalize = "auto";      // auto (as the model says), on, off
  std::optional<int> dimensions = {};  // keep this many leading numbers, normalised after the cut
  // Folder that keeps packed weights, so that the next load is faster and processes share memory; empty: none.
  std::filesystem::path weight_cache = {};
};

// How one call takes its texts, in place of the prompt that the model was loaded with. At most one of the three is given.
struct TextSettings {
  std::optional<std::string> prompt = {};       // put before every text; "" is none
  std::optional<std::string> prompt_name = {};  // one of the model's prompts
  // What the texts are: search_query, search_document, query, document, passage, classification or clustering. Takes the
  // model's prompt for that, if it has one; models for late interaction keep punctuation in queries only.
  std::optional<std::string> input_type = {};
};

// A text's place in the list that was given, and how well it answers the query.
struct RankedText {
  size_t index = 0;
  float score = 0;
};

// How scores of classifiers and rerankers are given.
enum class Scores : uint8_t {
  kModel,        // as the model's folder says; what sentence-transformers' CrossEncoder gives
  kRaw,          // logits
  kProbability,  // 0 to 1
};

// A loaded model. Movable. All const functions may be called from any number of threads; calls that compute take turns, each
// using every thread of the model.
class Model {
 public:
  // `folder` is a Hugging Face model folder, the name of a model on the hub ("org/name"), which is downloaded if it isn't in
  // the cache, or a .gguf file. Takes some 0.1 s per 20 million parameters.
  static Result<Model> load(const std::filesystem::path& folder, const ModelOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  int dimensions() const;     // numbers in a vector
  int max_length() const;     // tokens
  std::string dtype() const;  // never "auto"

  // Result i belongs to texts[i]. A text that cannot be embedded has its own error; the others are not touched by it.
  std::vector<Result<Vector>> embed(std::span<const std::string> texts, const TextSettings& settings = {}) const;
  Result<Vector> embed(std::string_view text, const TextSettings& settings = {}) const;
  // Token ids, used as given: no special tokens are added. Each must be in [0, vocabulary).
  std::vector<Result<Vector>> embed_ids(std::span<const std::vector<int64_t>> texts) const;

  // Names of the model's prompts.
  std::vector<std::string> prompt_names() const;
  // What the model gives: some of "vector" (embed), "scores" (rerank, classify), "sparse" and "tokens". Asking for anything
  // else is kUnsupported.
  std::vector<std::string> outputs() const;
  // Labels of a classifier, by score; a reranker has one.
  std::vector<std::string> labels() const;

  // Texts by how well they answer the query, the best first; at most `top_k` of them, 0 being all. For cross-encoders with one
  // label, and for late interaction (ColBERT), whose scores are sums over the query's tokens. A text that cannot be scored is
  // an error of the whole.
  Result<std::vector<RankedText>> rerank(std::string_view query, std::span<const std::string> texts, size_t top_k = 0,
                                         Scores scores = Scores::kModel) const;
  // Score j of result i is how well labels()[j] fits texts[i].
  std::vector<Result<std::vector<float>>> classify(std::span<const std::string> texts, Scores scores = Scores::kModel) const;
  // Weights of words (SPLADE, bge-m3).
  std::vector<Result<SparseVector>> embed_sparse(std::span<const std::string> texts, const TextSettings& settings = {}) const;
  // One vector for each chunk of one text. The chunks are read together, so that each is understood beside the others (late
  // chunking); too many tokens for the model are kTooLarge.
  Result<std::vector<Vector>> embed_chunks(std::span<const std::string> chunks) const;
  // One vector for each token: the last hidden states, or what a model for late interaction makes of them.
  std::vector<Result<TokenVectors>> embed_tokens(std::span<const std::string> texts, const TextSettings& settings = {}) const;

  // The ids that embed() would run for the text, prompt and special tokens included.
  Result<std::vector<int32_t>> tokenize(std::string_view text) const;

 private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "0.1.0"
std::string_view version();

}  // namespace inlay
