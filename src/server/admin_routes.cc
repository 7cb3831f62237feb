#include "server/admin_routes.h"

#include <exception>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"

namespace inlay {
namespace {

constexpr std::string_view kAdmin = "/admin/models";
constexpr std::string_view kRepository = "/v2/repository/";
constexpr size_t kMaxNameBytes = 256;
constexpr double kMaxWeight = 1000;

// {prefix}/{name}/{verb}
struct Target {
  std::string name;
  std::string_view verb;
};

std::optional<Target> target_of(std::string_view path) {
  for (const std::string_view prefix : {std::string_view("/admin/models/"), std::string_view("/v2/repository/models/")}) {
    if (!path.starts_with(prefix)) continue;
    const std::string_view rest = path.substr(prefix.size());
    const size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return std::nullopt;
    return Target{std::string(rest.substr(0, slash)), rest.substr(slash + 1)};
  }
  return std::nullopt;
}

Result<LoadRequest> parse_load(const std::string& name, const std::string& body) {
  LoadRequest request{name, {}, 1};
  if (name.size() > kMaxNameBytes || name.find(':') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "a model's name has at most {} bytes and no colon", kMaxNameBytes);
  }
  if (body.empty()) return request;
  const JsonDocument document = TRY(JsonDocument::parse(body, "body"));
  request.folder = TRY(document.root().string_or("model", ""));
  request.weight = TRY(document.root().double_or("weight", 1));
  if (!(request.weight > 0 && request.weight <= kMaxWeight)) {
    return fail(ErrorCode::kInvalidArgument, "`weight` is {}, wanted more than 0 and at most {}", request.weight, kMaxWeight);
  }
  return request;
}

// The folder is the admin's own, so what is wrong with it may be said.
Failure load_failure(const Error& error) {
  const bool is_ours = error.code == ErrorCode::kInternal || error.code == ErrorCode::kUnavailable;
  return {is_ours ? Fault::kInternal : Fault::kInvalid, error.message, {}};
}

HttpResponse done(std::string_view name, std::string_view state) {
  JsonWriter json;
  json.begin_object().key("name").value(name).key("state").value(state).end_object();
  return json_response(json.take());
}

}  // namespace

bool AdminRoutes::has(std::string_view path) {
  return path == kAdmin || path.starts_with("/admin/") || path.starts_with(kRepository);
}

void AdminRoutes::handle(HttpRequest request, HttpReply reply) {
  if (!pool_) return reply(render_failure(Dialect::kOpenAi, {Fault::kUnavailable, "the server is shutting down", {}}));
  pool_->post([this, request = std::move(request), reply = std::move(reply)] {
    try {
      reply(answer(request));
    } catch (const std::exception& exception) {
      spdlog::error("{}: {}", request.path, exception.what());
      reply(render_failure(dialect_of(request.path), {Fault::kInternal, "the server failed to handle the request", {}}));
    }
  });
}

HttpResponse AdminRoutes::answer(const HttpRequest& request) {
  const Dialect dialect = dialect_of(request.path);
  if (request.path == kAdmin && request.method == HttpMethod::kGet) return render_openai_models(models_.facts());
  if (request.path == "/v2/repository/index" && request.method == HttpMethod::kPost)
    return render_kserve_index(models_.facts());
  const std::optional<Target> target = target_of(request.path);
  if (!target || (target->verb != "load" && target->verb != "unload")) {
    return render_failure(dialect, {Fault::kRouteNotFound, fmt::format("no such route: {}", request.path), {}});
  }
  if (request.method != HttpMethod::kPost) return render_failure(dialect, {Fault::kMethod, "wanted POST", {}});
  return target->verb == "load" ? load(target->name, request, dialect) : unload(target->name, dialect);
}

HttpResponse AdminRoutes::load(const std::string& name, const HttpRequest& request, Dialect dialect) {
  const Result<LoadRequest> wanted = parse_load(name, request.body);
  if (!wanted) return render_failure(dialect, failure_of(wanted.error()));
  if (!load_) return render_failure(dialect, {Fault::kForbidden, "no models can be loaded here", {}});
  Result<std::unique_ptr<EmbedService>> service = load_(*wanted);
  if (!service) return render_failure(dialect, load_failure(service.error()));
  const Result<> added = models_.add(*std::move(service));
  if (!added) return render_failure(dialect, failure_of(added.error()));
  spdlog::info("model {} was loaded", name);
  return done(name, "READY");
}

HttpResponse AdminRoutes::unload(const std::string& name, Dialect dialect) {
  const Result<> removed = models_.remove(name);
  if (!removed) return render_failure(dialect, {Fault::kModelNotFound, removed.error().message, {}});
  spdlog::info("model {} was unloaded", name);
  return done(name, "UNAVAILABLE");
}

}  // namespace inlay
