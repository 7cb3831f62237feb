// Scores that say how well texts answer a query: by a cross-encoder, which reads both together, or by late interaction, which
// compares the vectors of their tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace inlay {

enum class ScoreForm : uint8_t {
  kModel,        // as the folder says: what sentence-transformers' CrossEncoder gives
  kRaw,          // logits
  kProbability,  // 0 to 1: sigmoid for one label, or for labels that do not exclude each other; else softmax
};
std::optional<ScoreForm> score_form_from_name(std::string_view name);  // "model", "raw", "probability"

// Turns logits of a text into scores, one for each label.
void finish_scores(const ModelSpec& spec, ScoreForm form, std::span<float> logits);

// What late interaction makes of the largest product of each of the query's tokens with a token of the text.
enum class LateScore : uint8_t { kSum, kMean };
// nullopt where the model is not one for late interaction.
std::optional<LateScore> late_score_of(const ModelSpec& spec);
// 0 for a query without tokens; a token has no product where the text has no tokens.
float late_score(LateScore form, const TokenVectors& query, const TokenVectors& text);

// Whether the model can rank texts for a query: a cross-encoder with one label, or a model for late interaction.
Result<> can_rerank(const Engine& engine);

// What the engine has to run to score `texts`; each asks for what rerank_scores() reads. A cross-encoder takes a pair for each
// text. Late interaction takes the query first, and then each text. A text that cannot be used has its own error; an error of
// the whole is the model's or the query's.
struct RerankInputs {
  std::vector<Result<TokenizedText>> inputs;
  size_t first_text = 0;  // the input of texts[0]
};
Result<RerankInputs> tokenize_for_rerank(const Engine& engine, std::string_view query, std::span<const std::string> texts,
                                         const TextOptions& options);

// Scores of the texts, from what the engine made of tokenize_for_rerank()'s inputs, errors included. `form` is for
// cross-encoders; late interaction gives the sum (for bge-m3 and meanmaxsim the mean) over the query's tokens of the largest
// product with a token of the text.
std::vector<Result<float>> rerank_scores(const Engine& engine, ScoreForm form, std::span<const Result<TextOutput>> outputs);

// Both, with a run of the engine in between. Score i belongs to texts[i].
Result<std::vector<Result<float>>> rerank(const Engine& engine, std::string_view query, std::span<const std::string> texts,
                                          ScoreForm form, const TextOptions& options = {});

// Indices of scores from high to low, equal ones in their order; errors are left out. At most `top_k`; 0: all.
std::vector<uint32_t> rank_scores(std::span<const Result<float>> scores, size_t top_k);

// Runs the usable ones of `texts`; result i belongs to texts[i].
std::vector<Result<TextOutput>> run_usable(const Engine& engine, std::vector<Result<TokenizedText>> texts);

}  // namespace inlay
