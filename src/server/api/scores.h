// Routes of models that give scores: rerankers (TEI, Cohere, Jina), classifiers (TEI, Infinity) and vLLM's /score. As in
// dialects.h, parse functions are pure; a call's `render` gets the logits of its inputs.
#pragma once

#include "base/json.h"
#include "server/api/embed_request.h"

namespace inlay {

// POST /rerank, /reranking: TEI's form with `texts`, Jina's with `documents`.
Result<DialectCall> parse_rerank(const Json& body);
// POST /v1/rerank, /v1/reranking: Jina's and Cohere's first form, whose answer holds what clients of either read.
Result<DialectCall> parse_rerank_v1(const Json& body);
// POST /v2/rerank
Result<DialectCall> parse_rerank_v2(const Json& body);
// POST /score, /v1/score
Result<DialectCall> parse_score(const Json& body);
// POST /predict
Result<DialectCall> parse_predict(const Json& body);
// POST /classify
Result<DialectCall> parse_classify(const Json& body);

// What a score is before it goes out: the logits as they are, or probabilities.
std::vector<float> finished_scores(std::span<const float> logits, ScoreActivation activation, bool raw);

}  // namespace inlay
