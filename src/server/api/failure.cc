#include "server/api/failure.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"

namespace inlay {
namespace {

// OpenAI clients retry 429 and from 500 on; above 60 s some of them give up instead of waiting.
constexpr std::chrono::milliseconds kMaxRetryAfter{60'000};

struct FaultRow {
  std::string_view name;
  std::array<int, kDialects> status;  // in the order of Dialect
  std::string_view openai_type;
  std::string_view openai_code;  // empty: null
  std::string_view tei_type;
};

// In the order of Fault.
constexpr std::array<FaultRow, kFaults> kTable = {{
    {"syntax", {400, 400, 400, 400, 400, 3}, "invalid_request_error", "", "Validation"},
    {"type", {400, 422, 400, 400, 400, 3}, "invalid_request_error", "", "Validation"},
    {"invalid", {400, 422, 400, 400, 400, 3}, "invalid_request_error", "", "Validation"},
    {"empty", {400, 400, 400, 400, 400, 3}, "invalid_request_error", "", "Empty"},
    {"too_long", {400, 422, 400, 400, 400, 3}, "invalid_request_error", "context_length_exceeded", "Validation"},
    {"too_large", {413, 413, 413, 413, 413, 3}, "invalid_request_error", "request_too_large", "Validation"},
    {"unauthorized", {401, 401, 401, 401, 401, 16}, "authentication_error", "invalid_api_key", "Unauthorized"},
    {"forbidden", {403, 403, 403, 403, 403, 7}, "permission_error", "forbidden", "Unauthorized"},
    {"model_not_found", {404, 404, 404, 404, 404, 5}, "invalid_request_error", "model_not_found", "Validation"},
    {"route_not_found", {404, 404, 404, 404, 404, 12}, "invalid_request_error", "route_not_found", "Validation"},
    {"method", {405, 405, 405, 405, 405, 12}, "invalid_request_error", "method_not_allowed", "Validation"},
    {"model_kind", {400, 424, 400, 400, 400, 3}, "invalid_request_error", "model_not_supported", "Backend"},
    {"overloaded", {429, 429, 429, 503, 503, 14}, "rate_limit_exceeded", "overloaded", "Overloaded"},
    {"deadline", {503, 504, 504, 503, 503, 4}, "server_error", "timeout", "Overloaded"},
    {"unavailable", {503, 503, 503, 503, 503, 14}, "server_error", "unavailable", "Unhealthy"},
    {"cancelled", {499, 499, 499, 499, 499, 1}, "invalid_request_error", "cancelled", "Backend"},
    {"internal", {500, 424, 500, 500, 500, 13}, "server_error", "", "Backend"},
}};

const FaultRow& row_of(Fault fault) { return kTable[static_cast<size_t>(fault)]; }

void write_openai(JsonWriter& json, const Failure& failure) {
  const FaultRow& row = row_of(failure.fault);
  json.begin_object().key("error").begin_object().key("message").value(failure.message);
  json.key("type").value(row.openai_type).key("param").null().key("code");
  if (row.openai_code.empty())
    json.null();
  else
    json.value(row.openai_code);
  json.end_object().end_object();
}

std::string body_of(Dialect dialect, const Failure& failure) {
  JsonWriter json;
  switch (dialect) {
    case Dialect::kGrpc: return failure.message;
    case Dialect::kOpenAi: write_openai(json, failure); break;
    case Dialect::kTei:
      json.begin_object().key("error").value(failure.message);
      json.key("error_type").value(row_of(failure.fault).tei_type).end_object();
      break;
    case Dialect::kCohere: json.begin_object().key("message").value(failure.message).end_object(); break;
    case Dialect::kOllama:
    case Dialect::kKServe: json.begin_object().key("error").value(failure.message).end_object(); break;
  }
  return json.take();
}

bool is_one_of(std::string_view path, std::initializer_list<std::string_view> paths) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

}  // namespace

std::string_view fault_name(Fault fault) { return row_of(fault).name; }

Failure failure_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument: return {Fault::kInvalid, error.message, {}};
    case ErrorCode::kNotFound: return {Fault::kType, error.message, {}};
    case ErrorCode::kTooLarge: return {Fault::kTooLong, error.message, {}};
    case ErrorCode::kUnsupported: return {Fault::kModelKind, error.message, {}};
    case ErrorCode::kOverloaded: return {Fault::kOverloaded, error.message, std::chrono::seconds(1)};
    case ErrorCode::kCancelled: return {Fault::kCancelled, error.message, {}};
    case ErrorCode::kCorrupt: return {Fault::kType, error.message, {}};
    case ErrorCode::kUnavailable: return {Fault::kUnavailable, error.message, std::chrono::seconds(1)};
    case ErrorCode::kInternal: break;
  }
  return {Fault::kInternal, error.message, {}};
}

int failure_status(Dialect dialect, Fault fault) { return row_of(fault).status[static_cast<size_t>(dialect)]; }

HttpResponse render_failure(Dialect dialect, const Failure& failure) {
  HttpResponse response;
  response.status = failure_status(dialect, failure.fault);
  response.body = body_of(dialect, failure);
  if (failure.fault == Fault::kUnauthorized) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (failure.retry_after.count() > 0) {
    const std::chrono::milliseconds wait = std::min(failure.retry_after, kMaxRetryAfter);
    response.headers.emplace_back("Retry-After", std::to_string((wait.count() + 999) / 1000));
    response.headers.emplace_back("retry-after-ms", std::to_string(wait.count()));
  }
  return response;
}

Dialect dialect_of(std::string_view path) {
  if (path == "/v2/embed" || path == "/v2/rerank") return Dialect::kCohere;
  if (path == "/v2" || path.starts_with("/v2/")) return Dialect::kKServe;
  if (path.starts_with("/api/")) return Dialect::kOllama;
  if (is_one_of(path, {"/embed", "/embed_all", "/embed_sparse", "/rerank", "/predict", "/similarity", "/tokenize", "/decode",
                       "/info"})) {
    return Dialect::kTei;
  }
  return Dialect::kOpenAi;
}

}  // namespace inlay
