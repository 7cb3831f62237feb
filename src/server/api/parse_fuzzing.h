// For fuzz targets and tests: every function that reads a stranger's body, on one piece of input.
#pragma once

#include <string>
#include <string_view>

#include "server/api/dialects.h"
#include "server/api/text_routes.h"

namespace inlay {

// Every dialect reads the bytes; what they understood must hold together, and can be answered.
inline void parse_with_every_dialect(std::string_view bytes) {
  const auto check = [](const Result<DialectCall>& call) {
    if (!call) return;
    EmbedAnswer answer{.id = "id", .model = "m", .vectors = {}, .tokens = {}, .times = {}};
    answer.vectors.resize(call->request.inputs.size(), std::vector<float>(8, 0.5F));
    const HttpResponse response = call->render(answer);
    if (response.body.empty()) __builtin_trap();
  };
  HttpRequest request;
  request.body = bytes;
  check(parse_kserve(request, "m"));
  const size_t comma = bytes.find(',');
  request.headers = {{"inference-header-content-length", std::to_string(comma == std::string_view::npos ? 0 : comma)}};
  check(parse_kserve(request, "m"));
  const Result<JsonDocument> document = JsonDocument::parse(bytes, "body");
  if (!document) return;
  const Json body = document->root();
  check(parse_openai(body));
  check(parse_tei_embed(body));
  check(parse_tei_similarity(body));
  check(parse_cohere(body));
  check(parse_ollama_embed(body));
  check(parse_ollama_embeddings(body));
  if (const Result<TokenizeCall> call = parse_tokenize(body); call && call->texts.empty()) __builtin_trap();
  if (const Result<DecodeCall> call = parse_decode(body); call && call->ids.empty()) __builtin_trap();
}

}  // namespace inlay
