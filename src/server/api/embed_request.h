// The one form that every dialect's embedding request is read into, and the one that every dialect's answer is written from.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/rerank.h"
#include "engine/scheduler.h"
#include "engine/validation_report.h"
#include "model/model_spec.h"
#include "model/output.h"
#include "server/http/http.h"

namespace inlay {

// A text, a pair of texts, or the ids of a text, which are used as they are: no prompt, no special tokens, no truncation.
struct EmbedInput {
  std::string text;
  std::vector<int64_t> ids;
  bool is_ids = false;
  std::optional<std::string> second = {};  // of a pair
};

struct EmbedRequest {
  std::string model;  // empty: the server's first
  OutputKind output = OutputKind::kVector;
  bool ranks = false;  // of scores, one a text is wanted, which only re-rankers have
  std::vector<EmbedInput> inputs;
  std::optional<bool> truncate;                 // nullopt: as the server is set; false: a text that is too long is an error
  std::optional<TruncationSide> truncate_side;  // nullopt: as the server is set
  std::optional<std::string> prompt;            // put before every text; "" is none
  std::optional<std::string> prompt_name;       // of the model's prompts
  std::optional<std::string> input_type;  // search_query, search_document, ...: picks a prompt if the model has a fitting one
  std::optional<bool> normalize;          // nullopt: as the server is set
  bool unit_length = true;                // where neither request nor server says: normalise, or else as the folder does
  std::optional<int64_t> dimensions;      // numbers to keep of each vector
  std::optional<int64_t> max_tokens;      // per text
  int dimensions_multiple_of = 1;         // packed bits need whole bytes
  std::optional<Priority> priority;
  std::optional<std::chrono::microseconds> timeout;
};

struct ModelFacts;

struct EmbedTimes {
  std::chrono::nanoseconds tokenize{0};
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds compute{0};
  std::chrono::nanoseconds total{0};  // up to rendering
};

// Item i belongs to the request's input i.
struct EmbedAnswer {
  std::string id;  // of the request
  std::string model;
  std::vector<std::vector<float>> vectors;
  std::vector<TextOutput> outputs = {};  // instead of vectors, where something else was asked for
  const ModelFacts* facts = nullptr;     // of the model, while the answer is written
  std::vector<int> tokens;               // as the model saw them: special tokens included, after truncation
  int64_t total_tokens = 0;
  int64_t total_characters = 0;  // code points of the texts
  EmbedTimes times;
};

// What a model is, as far as requests are checked against it and clients are told.
struct ModelFacts {
  std::string name;  // what clients call it
  std::string id;    // where it came from
  std::string dtype;
  std::string pooling;  // "mean", "cls", ...
  int dimensions = 0;
  int max_length = 0;  // tokens, special ones included
  int vocab_size = 0;
  std::map<std::string, std::string> prompts;
  OutputSet outputs = {OutputKind::kVector};                // what it can make of a text
  std::vector<std::string> labels;                          // of its scores
  ScoreActivation probability = ScoreActivation::kSigmoid;  // what makes probabilities of its scores
  std::optional<LateScore> late_score = {};                 // of models for late interaction, which rank by vectors of tokens
  bool folder_normalizes = false;                           // what the folder itself says
  bool raw_available = true;                                // vectors can be had without normalisation
  bool auto_truncate = true;
  int64_t max_queue_tokens = 0;
  int max_batch_tokens = 0;
  std::optional<int> max_batch_requests;
  int max_concurrent_requests = 0;
  int tokenization_workers = 0;
  int64_t created = 0;  // Unix time
  // Sums of products are no logits.
  ScoreActivation score_activation() const { return late_score ? ScoreActivation::kIdentity : probability; }
  std::optional<ValidationSummary> validation = {};  // of the weights in this dtype, where inlay validate has left a report
};

// A request as its dialect understood it, with the dialect's way to answer it. `render` is pure and may run in any thread.
struct DialectCall {
  EmbedRequest request;
  std::function<HttpResponse(const EmbedAnswer&)> render;
};

}  // namespace inlay
