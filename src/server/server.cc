#include "server/server.h"

#include "base/log.h"

namespace inlay {

struct Server::Impl {
  Impl(ServerOptions given, ServedModels served) : options(std::move(given)), models(std::move(served)) {}

  ServerOptions options;
  ServedModels models;
  Metrics metrics;
  // Replies go to connections of `http`, so whatever may still reply (the pool, the models' lanes) ends before it: run() sees
  // to it.
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<WorkPool> pool = std::make_unique<WorkPool>(options.workers);
  EmbedContext context{models, options.policy, *pool, metrics};
  Router router{options.router, context, [this] { return gauges(); }};

  Gauges gauges() const { return {http->connections(), !http->draining()}; }

  // Answers what is under way. Models drain first, since their answers pass through the pool.
  void stop() {
    for (const std::unique_ptr<EmbedService>& model : models) {
      while (!model->drain(std::chrono::seconds(10))) spdlog::warn("{}: still computing", model->facts().name);
    }
    pool.reset();
    models.clear();
  }
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  if (impl_->pool) impl_->stop();
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, ServedModels models) {
  if (models.empty()) return fail(ErrorCode::kInvalidArgument, "no model to serve");
  for (size_t i = 1; i < models.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const std::string& name = models[i]->facts().name;
      if (name == models[k]->facts().name) return fail(ErrorCode::kInvalidArgument, "two models are called '{}'", name);
    }
  }
  std::unique_ptr<Impl> impl = std::make_unique<Impl>(std::move(options), std::move(models));
  Router& router = impl->router;
  impl->http = TRY(HttpServer::listen(
      impl->options.http,
      [&router](HttpRequest request, HttpReply reply) { router.handle(std::move(request), std::move(reply)); },
      [&router](int status, std::string_view message, std::string_view path) { return router.refuse(status, message, path); }));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

int Server::port() const { return impl_->http->port(); }

int Server::run() {
  const int cut = impl_->http->run();
  impl_->stop();
  return cut;
}

void Server::drain() { impl_->http->drain(); }
const Metrics& Server::metrics() const { return impl_->metrics; }

}  // namespace inlay
