#include "server/openapi.h"

#include <array>
#include <string_view>

#include "base/json_writer.h"

namespace inlay {
namespace {

struct Route {
  std::string_view path;
  std::string_view method;
  std::string_view summary;
  std::string_view body;  // schema of the request's JSON; empty for GET
};

constexpr std::string_view kInput =
    R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}},{"type":"array","items":{"type":"integer"}},{"type":"array","items":{"type":"array","items":{"type":"integer"}}}]})";
constexpr std::string_view kTexts = R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})";

constexpr std::array<Route, 47> kRoutes = {{
    {"/v1/embeddings", "post", "OpenAI: embeddings",
     R"({"type":"object","required":["input"],"properties":{"input":$INPUT,"model":{"type":"string"},"encoding_format":{"enum":["float","base64"]},"dimensions":{"type":"integer"},"user":{"type":"string"},"prompt_name":{"type":"string"},"prompt":{"type":"string"},"input_type":{"type":"string"},"normalize":{"type":"boolean"},"truncate":{"type":"boolean"},"truncate_prompt_tokens":{"type":"integer"},"priority":{"oneOf":[{"type":"integer"},{"enum":["interactive","standard","bulk"]}]},"timeout":{"type":"number"}}})"},
    {"/v1/models", "get", "OpenAI: models", ""},
    {"/v1/models/{model}", "get", "OpenAI: a model", ""},
    {"/embed", "post", "TEI: embeddings",
     R"({"type":"object","required":["inputs"],"properties":{"inputs":$INPUT,"truncate":{"type":"boolean"},"truncation_direction":{"enum":["Left","Right"]},"prompt_name":{"type":"string"},"normalize":{"type":"boolean"},"dimensions":{"type":"integer"}}})"},
    {"/similarity", "post", "TEI: cosines of one text against others",
     R"({"type":"object","required":["inputs"],"properties":{"inputs":{"type":"object","required":["source_sentence","sentences"],"properties":{"source_sentence":{"type":"string"},"sentences":{"type":"array","items":{"type":"string"}}}},"parameters":{"type":"object"}}})"},
    {"/tokenize", "post", "TEI: tokens of texts",
     R"({"type":"object","required":["inputs"],"properties":{"inputs":$TEXTS,"add_special_tokens":{"type":"boolean"},"prompt_name":{"type":"string"}}})"},
    {"/decode", "post", "TEI: texts of token ids",
     R"({"type":"object","required":["ids"],"properties":{"ids":{"type":"array"},"skip_special_tokens":{"type":"boolean"}}})"},
    {"/info", "get", "TEI: the model and the limits", ""},
    {"/rerank", "post", "Scores; needs a re-ranker model", R"({"type":"object"})"},
    {"/v1/rerank", "post", "Jina: scores; needs a re-ranker model", R"({"type":"object"})"},
    {"/v2/rerank", "post", "Cohere: scores; needs a re-ranker model", R"({"type":"object"})"},
    {"/predict", "post", "TEI: classes; needs a classifier model", R"({"type":"object"})"},
    {"/v2/embed", "post", "Cohere: embeddings",
     R"({"type":"object","required":["model","input_type"],"properties":{"model":{"type":"string"},"input_type":{"type":"string"},"texts":{"type":"array","items":{"type":"string"}},"inputs":{"type":"array"},"max_tokens":{"type":"integer"},"output_dimension":{"type":"integer"},"embedding_types":{"type":"array","items":{"enum":["float","int8","uint8","binary","ubinary","base64"]}},"truncate":{"enum":["NONE","START","END"]},"priority":{"type":"integer"}}})"},
    {"/api/embed", "post", "Ollama: embeddings",
     R"({"type":"object","properties":{"model":{"type":"string"},"input":$TEXTS,"truncate":{"type":"boolean"},"dimensions":{"type":"integer"}}})"},
    {"/api/embeddings", "post", "Ollama: one embedding",
     R"({"type":"object","properties":{"model":{"type":"string"},"prompt":{"type":"string"}}})"},
    {"/v2", "get", "KServe: the server", ""},
    {"/v2/health/live", "get", "KServe: liveness", ""},
    {"/v2/health/ready", "get", "KServe: readiness", ""},
    {"/v2/models/{model}", "get", "KServe: inputs and outputs of a model", ""},
    {"/v2/models/{model}/infer", "post", "KServe: inference, JSON or binary tensors",
     R"({"type":"object","required":["inputs"],"properties":{"id":{"type":"string"},"parameters":{"type":"object"},"inputs":{"type":"array"},"outputs":{"type":"array"}}})"},
    {"/health", "get", "Liveness: 200 while the process answers", ""},
    {"/ready", "get", "Readiness: 503 while it shuts down", ""},
    {"/metrics", "get", "Figures for Prometheus", ""},
    {"/", "get", "The page: plots and a playground", ""},
    {"/", "post", "As /embed", R"({"type":"object"})"},
    {"/invocations", "post", "As /embed", R"({"type":"object"})"},
    {"/embeddings", "post", "As /v1/embeddings", R"({"type":"object"})"},
    {"/embed_all", "post", "TEI: a vector for each token", R"({"type":"object"})"},
    {"/embed_sparse", "post", "TEI: weights of words; needs a SPLADE model", R"({"type":"object"})"},
    {"/classify", "post", "Classes; needs a classifier model", R"({"type":"object"})"},
    {"/reranking", "post", "As /rerank", R"({"type":"object"})"},
    {"/v1/reranking", "post", "As /v1/rerank", R"({"type":"object"})"},
    {"/score", "post", "Scores of pairs; needs a re-ranker model", R"({"type":"object"})"},
    {"/v1/score", "post", "As /score", R"({"type":"object"})"},
    {"/api/tags", "get", "Ollama: models", ""},
    {"/api/version", "get", "Ollama: the version", ""},
    {"/v2/models/{model}/ready", "get", "KServe: readiness of a model", ""},
    {"/ping", "get", "As /health", ""},
    {"/v1/health", "get", "As /health", ""},
    {"/openapi.json", "get", "This document", ""},
    {"/api-doc/openapi.json", "get", "This document", ""},
    {"/admin/models", "get", "Models that are loaded; needs an admin key", ""},
    {"/admin/models/{model}/load", "post", "Loads a model; needs an admin key",
     R"({"type":"object","properties":{"model":{"type":"string","description":"folder; empty: where a model of this name came from before"},"weight":{"type":"number"}}})"},
    {"/admin/models/{model}/unload", "post", "Unloads a model; needs an admin key", R"({"type":"object"})"},
    {"/v2/repository/index", "post", "KServe: models; needs an admin key", R"({"type":"object"})"},
    {"/v2/repository/models/{model}/load", "post", "As /admin/models/{model}/load", R"({"type":"object"})"},
    {"/v2/repository/models/{model}/unload", "post", "As /admin/models/{model}/unload", R"({"type":"object"})"},
}};

std::string filled(std::string_view schema) {
  std::string text(schema);
  for (const auto& [name, value] :
       {std::pair{std::string_view("$INPUT"), kInput}, std::pair{std::string_view("$TEXTS"), kTexts}}) {
    const size_t at = text.find(name);
    if (at != std::string::npos) text.replace(at, name.size(), value);
  }
  return text;
}

void write_method(JsonWriter& json, const Route& route) {
  json.key(route.method).begin_object().key("summary").value(route.summary);
  if (route.path.find("{model}") != std::string_view::npos) {
    json.key("parameters").raw(R"([{"name":"model","in":"path","required":true,"schema":{"type":"string"}}])");
  }
  if (!route.body.empty()) {
    json.key("requestBody").begin_object().key("required").value(true).key("content").begin_object();
    json.key("application/json").begin_object().key("schema").raw(filled(route.body)).end_object().end_object().end_object();
  }
  json.key("responses")
      .raw(R"({"200":{"description":"done"},"default":{"description":"an error in the words of the dialect"}})");
  json.end_object();
}

// A path may have two methods, which stand one after the other in the table.
void write_paths(JsonWriter& json) {
  for (size_t i = 0; i < kRoutes.size();) {
    const std::string_view path = kRoutes[i].path;
    json.key(path).begin_object();
    for (; i < kRoutes.size() && kRoutes[i].path == path; ++i) write_method(json, kRoutes[i]);
    json.end_object();
  }
}

}  // namespace

std::string openapi_document() {
  JsonWriter json;
  json.begin_object().key("openapi").value("3.0.3").key("info").begin_object();
  json.key("title").value("Inlay").key("version").value(INLAY_VERSION).end_object();
  json.key("components").raw(R"({"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}})");
  json.key("security").raw(R"([{},{"key":[]}])").key("paths").begin_object();
  write_paths(json);
  json.end_object().end_object();
  return json.take();
}

}  // namespace inlay
