// The dialects' embedding routes. Each function reads a body (pure) and hands back the neutral request with the way to answer
// it. Errors: kCorrupt for a wrong type or a missing field, kInvalidArgument for a value that makes no sense, kUnsupported for
// what a text embedding model cannot do.
#pragma once

#include "base/json.h"
#include "base/json_writer.h"
#include "server/api/embed_request.h"

namespace inlay {

// POST /v1/embeddings, /embeddings
Result<DialectCall> parse_openai(const Json& body);
// POST /embed
Result<DialectCall> parse_tei_embed(const Json& body);
// POST /similarity
Result<DialectCall> parse_tei_similarity(const Json& body);
// POST /v2/embed
Result<DialectCall> parse_cohere(const Json& body);
// POST /api/embed. No input at all is a call without inputs, which Ollama answers with no vectors.
Result<DialectCall> parse_ollama_embed(const Json& body);
// POST /api/embeddings
Result<DialectCall> parse_ollama_embeddings(const Json& body);
// POST /v2/models/{model}[/versions/{version}]/infer, binary tensors included.
Result<DialectCall> parse_kserve(const HttpRequest& request, std::string_view model);

// Answers that need no vectors.
HttpResponse render_openai_models(const std::vector<ModelFacts>& models);
HttpResponse render_openai_model(const ModelFacts& model);
HttpResponse render_tei_info(const ModelFacts& model);
HttpResponse render_kserve_server();
HttpResponse render_kserve_model(const ModelFacts& model);
HttpResponse render_ollama_tags(const std::vector<ModelFacts>& models);
HttpResponse render_ollama_version();
HttpResponse render_kserve_index(const std::vector<ModelFacts>& models);

// What was written, with headers x-compute-*, x-*-time: milliseconds, as TEI writes them.
HttpResponse timed_response(JsonWriter& json, const EmbedAnswer& answer);

}  // namespace inlay
