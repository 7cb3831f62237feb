#include "server/router.h"

#include <algorithm>
#include <exception>
#include <random>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/text.h"
#include "server/api/dialects.h"
#include "server/api/scores.h"
#include "server/api/text_routes.h"
#include "server/api/token_outputs.h"
#include "server/openapi.h"
#include "server/web_files.h"

namespace inlay {
namespace {

constexpr size_t kMaxIdBytes = 128;
constexpr size_t kMostPieces = 1 << 19;  // tokens of one /tokenize answer
constexpr std::string_view kKServePrefix = "/v2/models/";

// Parse functions take JSON; this reads it for them.
std::function<Parsed<DialectCall>(const HttpRequest&)> from_json(Result<DialectCall> (*parse)(const Json&)) {
  return [parse](const HttpRequest& request) -> Parsed<DialectCall> {
    const Result<JsonDocument> document = JsonDocument::parse(request.body, "body");
    if (!document) return tl::unexpected<Failure>({Fault::kSyntax, document.error().message, {}});
    Result<DialectCall> call = parse(document->root());
    if (!call) return tl::unexpected<Failure>(failure_of(call.error()));
    return *std::move(call);
  };
}

// {name}[/versions/{version}][/{verb}] of a KServe path.
struct KServePath {
  std::string_view model;
  std::string_view version = "1";
  std::string_view verb;
};

KServePath split_kserve(std::string_view path) {
  path.remove_prefix(std::min(path.size(), kKServePrefix.size()));
  KServePath result;
  for (const std::string_view verb : {"infer", "ready"}) {
    if (path.size() > verb.size() && path.ends_with(verb) && path[path.size() - verb.size() - 1] == '/') {
      result.verb = verb;
      path.remove_suffix(verb.size() + 1);
    }
  }
  const size_t versions = path.rfind("/versions/");
  if (versions != std::string_view::npos) {
    result.version = path.substr(versions + std::string_view("/versions/").size());
    path = path.substr(0, versions);
  }
  result.model = path;
  return result;
}

std::string no_version(const KServePath& path) {
  return fmt::format("Request for unknown model: '{}' version {} is not found", path.model, path.version);
}

Parsed<DialectCall> parse_kserve_request(const HttpRequest& request) {
  const KServePath path = split_kserve(request.path);
  if (path.version != "1") return tl::unexpected<Failure>({Fault::kModelNotFound, no_version(path), {}});
  Result<DialectCall> call = parse_kserve(request, path.model);
  if (!call) return tl::unexpected<Failure>(failure_of(call.error()));
  return *std::move(call);
}

// TEI says this of an empty list, with a status of its own.
Parsed<DialectCall> parse_similarity_request(const HttpRequest& request) {
  const Result<JsonDocument> document = JsonDocument::parse(request.body, "body");
  if (!document) return tl::unexpected<Failure>({Fault::kSyntax, document.error().message, {}});
  const std::optional<Json> inputs = document->root().find("inputs");
  const std::optional<Json> sentences = inputs ? inputs->find("sentences") : std::nullopt;
  const Result<std::vector<Json>> items =
      sentences ? sentences->items() : Result<std::vector<Json>>(std::vector<Json>(1, document->root()));
  if (items && items->empty()) return tl::unexpected<Failure>({Fault::kEmpty, "`sentences` cannot be empty", {}});
  Result<DialectCall> call = parse_tei_similarity(document->root());
  if (!call) return tl::unexpected<Failure>(failure_of(call.error()));
  return *std::move(call);
}

// What a page throws (memory may run out) fails its request and no other.
HttpResponse guarded(const std::function<HttpResponse(const HttpRequest&)>& page, const HttpRequest& request) {
  try {
    return page(request);
  } catch (const std::exception& exception) {
    spdlog::error("{}: {}", request.path, exception.what());
    return render_failure(dialect_of(request.path), {Fault::kInternal, "the server failed to handle the request", {}});
  }
}

Failure no_model() { return {Fault::kModelNotFound, "no such model is served here", {}}; }

HttpResponse empty_page(int status) {
  HttpResponse response;
  response.status = status;
  return response;
}

HttpResponse text_page(std::string text) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = std::move(text);
  return response;
}

}  // namespace

Router::Router(const RouterOptions& options, const EmbedContext& context, std::function<Gauges()> gauges, ModelLoader load)
    : options_(options),
      context_(context),
      gauges_(std::move(gauges)),
      kserve_route_{Dialect::kKServe, parse_kserve_request},
      admin_(context.models, std::move(load)) {
  std::random_device random;
  id_seed_ = static_cast<uint64_t>(random()) << 32 | random();
  add_embedding_routes();
  add_score_routes();
  add_text_routes();
  add_pages();
  add_web_pages();
}

void Router::add_embedding_routes() {
  embedding_routes_["/v1/embeddings"] = embedding_routes_["/embeddings"] = {Dialect::kOpenAi, from_json(parse_openai)};
  embedding_routes_["/embed"] = {Dialect::kTei, from_json(parse_tei_embed)};
  embedding_routes_["/"] = embedding_routes_["/invocations"] = {
      Dialect::kTei, [this](const HttpRequest& request) { return parse_by_kind(request); }};
  embedding_routes_["/similarity"] = {Dialect::kTei, parse_similarity_request};
  embedding_routes_["/v2/embed"] = {Dialect::kCohere, from_json(parse_cohere)};
  embedding_routes_["/api/embed"] = {Dialect::kOllama, from_json(parse_ollama_embed)};
  embedding_routes_["/api/embeddings"] = {Dialect::kOllama, from_json(parse_ollama_embeddings)};
}

void Router::add_score_routes() {
  embedding_routes_["/rerank"] = embedding_routes_["/reranking"] = {Dialect::kTei, from_json(parse_rerank)};
  embedding_routes_["/v1/rerank"] = embedding_routes_["/v1/reranking"] = {Dialect::kOpenAi, from_json(parse_rerank_v1)};
  embedding_routes_["/v2/rerank"] = {Dialect::kCohere, from_json(parse_rerank_v2)};
  embedding_routes_["/score"] = embedding_routes_["/v1/score"] = {Dialect::kOpenAi, from_json(parse_score)};
  embedding_routes_["/predict"] = {Dialect::kTei, from_json(parse_predict)};
  embedding_routes_["/classify"] = {Dialect::kOpenAi, from_json(parse_classify)};
  embedding_routes_["/embed_sparse"] = {Dialect::kTei, from_json(parse_embed_sparse)};
  embedding_routes_["/embed_all"] = {Dialect::kTei, from_json(parse_embed_all)};
}

// TEI's default route is what the model was made for.
Parsed<DialectCall> Router::parse_by_kind(const HttpRequest& request) {
  const ModelRegistry::Lease model = context_.models.first();
  const ModelFacts facts = model ? model->facts() : ModelFacts();
  if (facts.outputs.has(OutputKind::kScores)) {
    return from_json(facts.labels.size() == 1 ? parse_rerank : parse_predict)(request);
  }
  return from_json(facts.outputs.has(OutputKind::kVector) ? parse_tei_embed : parse_embed_sparse)(request);
}

void Router::add_text_routes() {
  text_routes_["/tokenize"] = [this](const HttpRequest& request) { return tokenize(request); };
  text_routes_["/decode"] = [this](const HttpRequest& request) { return decode(request); };
}

void Router::add_pages() {
  const Page alive = [](const HttpRequest&) { return json_response(R"({"status":"ok"})"); };
  const Page ready = [this](const HttpRequest&) {
    if (gauges_().ready) return json_response(R"({"status":"ready"})");
    HttpResponse response = json_response(R"({"status":"draining"})");
    response.status = 503;
    return response;
  };
  pages_["/health"] = pages_["/ping"] = pages_["/v1/health"] = alive;
  pages_["/ready"] = ready;
  pages_["/v2/health/live"] = [](const HttpRequest&) { return empty_page(200); };
  pages_["/v2/health/ready"] = [this](const HttpRequest&) { return empty_page(gauges_().ready ? 200 : 400); };
  pages_["/v2"] = [](const HttpRequest&) { return render_kserve_server(); };
  pages_["/metrics"] = [this](const HttpRequest&) { return text_page(metrics_text()); };
  pages_["/info"] = [this](const HttpRequest&) {
    const ModelRegistry::Lease model = context_.models.first();
    return model ? render_tei_info(model->facts()) : render_failure(Dialect::kTei, no_model());
  };
  pages_["/v1/models"] = [this](const HttpRequest&) { return render_openai_models(context_.models.facts()); };
  pages_["/api/tags"] = [this](const HttpRequest&) { return render_ollama_tags(context_.models.facts()); };
  pages_["/api/version"] = [](const HttpRequest&) { return render_ollama_version(); };
  pages_["/openapi.json"] =
      pages_["/api-doc/openapi.json"] = [](const HttpRequest&) { return json_response(openapi_document()); };
}

// The page and what belongs to it.
void Router::add_web_pages() {
  for (const WebFile& file : web_files()) {
    const std::string path = file.name == "index.html" ? "/" : fmt::format("/web/{}", file.name);
    pages_[path] = [&file](const HttpRequest&) { return render_web_file(file); };
  }
}

std::vector<std::string> Router::routes() const {
  std::vector<std::string> routes = {"get /v1/models/{model}", "get /v2/models/{model}", "get /v2/models/{model}/ready",
                                     "post /v2/models/{model}/infer"};
  for (const auto& [path, route] : embedding_routes_) routes.push_back("post " + path);
  for (const auto& [path, route] : text_routes_) routes.push_back("post " + path);
  for (const auto& [path, page] : pages_) {
    if (!path.starts_with("/web/")) routes.push_back("get " + path);
  }
  for (const std::string_view route : AdminRoutes::kRoutes) routes.emplace_back(route);
  return routes;
}

std::string Router::metrics_text() const {
  std::string text = render_metrics(context_.metrics, gauges_(), options_.te_metrics);
  std::vector<ModelMetrics> figures;
  for (const ModelRegistry::Lease& model : context_.models.all()) figures.push_back({model->facts().name, model->scheduler()});
  write_scheduler_metrics(text, figures);
  return text;
}

HttpReply Router::with_common_headers(const IncomingRequest& incoming, HttpReply reply) const {
  HttpHeaders headers = {{"x-request-id", incoming.id}};
  const std::string origin(incoming.http.header("origin"));
  const bool any = std::find(options_.cors_origins.begin(), options_.cors_origins.end(), "*") != options_.cors_origins.end();
  const bool named =
      std::find(options_.cors_origins.begin(), options_.cors_origins.end(), origin) != options_.cors_origins.end();
  if (!origin.empty() && (any || named)) {
    headers.emplace_back("Access-Control-Allow-Origin", any ? "*" : origin);
    headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, retry-after, retry-after-ms");
    if (!any) headers.emplace_back("Vary", "Origin");
  }
  reply = with_request_log(options_.log, incoming, std::move(reply));
  return [headers = std::move(headers), reply = std::move(reply)](HttpResponse response) {
    response.headers.insert(response.headers.end(), headers.begin(), headers.end());
    reply(std::move(response));
  };
}

bool Router::is_open(std::string_view path) const {
  // The page holds no secrets: what it shows it asks for, with the key that its user gives.
  if (path == "/" || path.starts_with("/web/")) return true;
  return path == "/health" || path == "/v1/health" || path == "/ready" || path == "/ping" || path.starts_with("/v2/health/");
}

Parsed<std::string> Router::admit(const HttpRequest& request) const {
  const std::string_view authorization = request.header("authorization");
  if (AdminRoutes::has(request.path)) {
    if (options_.admin_keys.empty()) {
      return tl::unexpected<Failure>({Fault::kForbidden, "the server was started without --admin-key, so its models stay", {}});
    }
    std::optional<std::string> admin = options_.admin_keys.tenant(authorization);
    if (admin) return *std::move(admin);
    return tl::unexpected<Failure>({Fault::kUnauthorized, "no valid admin key in the Authorization header", {}});
  }
  if (options_.keys.empty()) return std::string(request.header("x-tenant").substr(0, kMaxIdBytes));
  const bool is_page = request.method == HttpMethod::kGet || request.method == HttpMethod::kHead;
  if (is_page && is_open(request.path)) return std::string();
  std::optional<std::string> tenant = options_.keys.tenant(authorization);
  if (tenant) return *std::move(tenant);
  return tl::unexpected<Failure>(
      {Fault::kUnauthorized, "no valid API key in the Authorization header: wanted 'Bearer KEY'", {}});
}

void Router::handle(HttpRequest request, HttpReply reply) {
  IncomingRequest incoming{std::move(request), {}, {}, 0};
  const HttpRequest& http = incoming.http;
  const std::string_view given = http.header("x-request-id");
  incoming.id =
      is_plain_word(given) ? std::string(given) : fmt::format("{:016x}", id_seed_ + 0x9E3779B97F4A7C15ULL * ++next_id_);
  incoming.bytes = http.body.size();
  Parsed<std::string> tenant = admit(http);
  if (tenant) incoming.tenant = *std::move(tenant);
  reply = with_common_headers(incoming, std::move(reply));
  if (http.method == HttpMethod::kOptions && !options_.cors_origins.empty()) {
    HttpResponse response = empty_page(204);
    response.headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                        {"Access-Control-Allow-Headers", "authorization, content-type, x-request-id, x-priority"},
                        {"Access-Control-Max-Age", "86400"}};
    return reply(std::move(response));
  }
  if (!tenant) return fail_with(http, tenant.error(), reply);
  dispatch(std::move(incoming), std::move(reply));
}

void Router::dispatch(IncomingRequest incoming, HttpReply reply) {
  const HttpRequest& http = incoming.http;
  if (AdminRoutes::has(http.path)) return admin_.handle(std::move(incoming.http), std::move(reply));
  if (http.method == HttpMethod::kPost) return post(std::move(incoming), reply);
  if (http.method == HttpMethod::kGet || http.method == HttpMethod::kHead) return reply(get(incoming));
  fail_with(http, {Fault::kMethod, "wanted GET or POST", {}}, reply);
}

void Router::post(IncomingRequest incoming, const HttpReply& reply) {
  const HttpRequest& http = incoming.http;
  const auto route = embedding_routes_.find(http.path);
  if (route != embedding_routes_.end()) return embed(context_, route->second, std::move(incoming), reply);
  if (http.path.starts_with(kKServePrefix) && split_kserve(http.path).verb == "infer") {
    return embed(context_, kserve_route_, std::move(incoming), reply);
  }
  const auto text = text_routes_.find(http.path);
  if (text != text_routes_.end()) {
    return context_.pool.post(
        [&page = text->second, request = std::move(incoming.http), reply] { reply(guarded(page, request)); });
  }
  if (pages_.contains(http.path)) return fail_with(http, {Fault::kMethod, "wanted GET", {}}, reply);
  fail_with(http, {Fault::kRouteNotFound, fmt::format("no such route: POST {}", http.path), {}}, reply);
}

HttpResponse Router::get(const IncomingRequest& incoming) {
  const std::string& path = incoming.http.path;
  const auto page = pages_.find(path);
  if (page != pages_.end()) return page->second(incoming.http);
  constexpr std::string_view kModels = "/v1/models/";
  if (path.starts_with(kModels)) {
    const NamedModel found = find_model(context_, path.substr(kModels.size()));
    if (found.model) return render_openai_model(found.model->facts());
    return render_failure(
        Dialect::kOpenAi,
        {Fault::kModelNotFound, fmt::format("model '{}' is not served here", path.substr(kModels.size())), {}});
  }
  if (path.starts_with(kKServePrefix)) return kserve_get(path);
  const Dialect dialect = dialect_of(path);
  if (embedding_routes_.contains(path) || text_routes_.contains(path)) {
    HttpResponse response = render_failure(dialect, {Fault::kMethod, "wanted POST", {}});
    response.headers.emplace_back("Allow", "POST");
    return response;
  }
  return render_failure(dialect, {Fault::kRouteNotFound, fmt::format("no such route: GET {}", path), {}});
}

HttpResponse Router::kserve_get(std::string_view path) {
  const KServePath parts = split_kserve(path);
  const NamedModel found = find_model(context_, std::string(parts.model));
  if (!found.model) {
    return render_failure(
        Dialect::kKServe,
        {Fault::kModelNotFound, fmt::format("Request for unknown model: '{}' is not found", parts.model), {}});
  }
  if (parts.version != "1") return render_failure(Dialect::kKServe, {Fault::kModelNotFound, no_version(parts), {}});
  if (parts.verb == "ready") return empty_page(gauges_().ready ? 200 : 400);
  if (parts.verb == "infer") return render_failure(Dialect::kKServe, {Fault::kMethod, "wanted POST", {}});
  return render_kserve_model(found.model->facts());
}

void Router::fail_with(const HttpRequest& request, const Failure& failure, const HttpReply& reply) const {
  context_.metrics.failures[static_cast<size_t>(failure.fault)].fetch_add(1, std::memory_order_relaxed);
  reply(render_failure(dialect_of(request.path), failure));
}

HttpResponse Router::refuse(int status, std::string_view message, std::string_view path) {
  const Fault fault = status == 413 ? Fault::kTooLarge : status == 503 ? Fault::kUnavailable : Fault::kSyntax;
  context_.metrics.failures[static_cast<size_t>(fault)].fetch_add(1, std::memory_order_relaxed);
  HttpResponse response = render_failure(dialect_of(path), {fault, std::string(message), {}});
  response.status = status;
  return response;
}

HttpResponse Router::tokenize(const HttpRequest& request) const {
  const Result<JsonDocument> document = JsonDocument::parse(request.body, "body");
  if (!document) return render_failure(Dialect::kTei, {Fault::kSyntax, document.error().message, {}});
  const Result<TokenizeCall> call = parse_tokenize(document->root());
  if (!call) return render_failure(Dialect::kTei, failure_of(call.error()));
  const NamedModel found = find_model(context_, call->model);
  if (!found.model) return render_failure(Dialect::kTei, no_model());
  EmbedRequest asked;
  asked.prompt_name = call->prompt_name ? call->prompt_name : found.prompt_name;
  const Result<std::optional<std::string>> prompt = prompt_of(asked, found.model->facts());
  if (!prompt) return render_failure(Dialect::kTei, failure_of(prompt.error()));
  std::vector<std::vector<TokenPiece>> pieces;
  size_t total = 0;
  for (const std::string& text : call->texts) {
    Result<std::vector<TokenPiece>> split = found.model->pieces(prompt->value_or("") + text, call->add_special_tokens);
    if (!split) return render_failure(Dialect::kTei, failure_of(split.error()));
    total += split->size();
    if (total > kMostPieces)
      return render_failure(Dialect::kTei, {Fault::kTooLarge, fmt::format("more than {} tokens", kMostPieces), {}});
    pieces.push_back(*std::move(split));
  }
  return render_tokenize(pieces);
}

HttpResponse Router::decode(const HttpRequest& request) const {
  const Result<JsonDocument> document = JsonDocument::parse(request.body, "body");
  if (!document) return render_failure(Dialect::kTei, {Fault::kSyntax, document.error().message, {}});
  const Result<DecodeCall> call = parse_decode(document->root());
  if (!call) return render_failure(Dialect::kTei, failure_of(call.error()));
  const NamedModel found = find_model(context_, call->model);
  if (!found.model) return render_failure(Dialect::kTei, no_model());
  std::vector<std::string> texts;
  for (const std::vector<int64_t>& ids : call->ids) {
    Result<std::string> text = found.model->decode(ids, call->skip_special_tokens);
    if (!text) return render_failure(Dialect::kTei, failure_of(text.error()));
    texts.push_back(*std::move(text));
  }
  return render_decode(texts);
}

}  // namespace inlay
