// Which path is answered by whom, and what holds for every request: keys, CORS, request ids, logs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin_routes.h"
#include "server/auth.h"
#include "server/embed_flow.h"
#include "server/request_log.h"

namespace inlay {

struct RouterOptions {
  ApiKeys keys;
  ApiKeys admin_keys;                     // of those who may load and unload models; none: nobody may
  std::vector<std::string> cors_origins;  // "*" is any; empty: no CORS headers at all
  bool te_metrics = false;                // metrics under TEI's names as well
  RequestLog log = RequestLog::kOff;
};

class Router {
 public:
  // `gauges` may be called from any thread. `load` brings a model from a folder; null if models cannot change.
  Router(const RouterOptions& options, const EmbedContext& context, std::function<Gauges()> gauges, ModelLoader load = nullptr);

  // An HttpHandler: never blocks. What takes time goes to the pool.
  void handle(HttpRequest request, HttpReply reply);
  // "post /embed", ...: what the OpenAPI document has to describe.
  std::vector<std::string> routes() const;
  // Waits for models that are being loaded or unloaded.
  void stop() { admin_.stop(); }
  // An HttpRefusal.
  HttpResponse refuse(int status, std::string_view message, std::string_view path);

 private:
  using Page = std::function<HttpResponse(const HttpRequest&)>;

  void add_embedding_routes();
  void add_score_routes();
  Parsed<DialectCall> parse_by_kind(const HttpRequest& request);
  void add_text_routes();
  void add_pages();
  void add_web_pages();
  HttpReply with_common_headers(const IncomingRequest& incoming, HttpReply reply) const;
  // What the keys say of a request: its tenant, or the failure.
  Parsed<std::string> admit(const HttpRequest& request) const;
  bool is_open(std::string_view path) const;
  void dispatch(IncomingRequest incoming, HttpReply reply);
  void post(IncomingRequest incoming, const HttpReply& reply);
  HttpResponse get(const IncomingRequest& incoming);
  HttpResponse kserve_get(std::string_view path);
  void fail_with(const HttpRequest& request, const Failure& failure, const HttpReply& reply) const;
  HttpResponse tokenize(const HttpRequest& request) const;
  HttpResponse decode(const HttpRequest& request) const;
  std::string metrics_text() const;

  const RouterOptions& options_;
  const EmbedContext& context_;
  std::function<Gauges()> gauges_;
  std::map<std::string, EmbedRoute, std::less<>> embedding_routes_;
  std::map<std::string, Page, std::less<>> text_routes_;  // POST, in the pool
  std::map<std::string, Page, std::less<>> pages_;        // GET, at once
  EmbedRoute kserve_route_;
  AdminRoutes admin_;
  std::atomic<uint64_t> next_id_ = 0;
  uint64_t id_seed_ = 0;
};

}  // namespace inlay
