#include "server/server.h"

#include "base/log.h"

namespace inlay {

struct Server::Impl {
  explicit Impl(ServerOptions given) : options(std::move(given)) {}

  ServerOptions options;
  ModelRegistry models;
  Metrics metrics;
  // Replies go to connections of `http`, so whatever may still reply (the pool, the models' lanes) ends before it: run() sees
  // to it.
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<WorkPool> pool = std::make_unique<WorkPool>(options.workers);
  EmbedContext context{models, options.policy, *pool, metrics};
  Router router{options.router, context, [this] { return gauges(); }, options.load};

  DoorContext door_context{context, options.router.keys, [this] { return gauges(); }};
  std::vector<std::unique_ptr<Door>> doors;

  Gauges gauges() const { return {http->connections(), !http->draining()}; }

  // Answers what is under way. Models drain before the pool ends, since their answers pass through the pool.
  void stop() {
    for (const std::unique_ptr<Door>& door : doors) door->close(options.http.drain_timeout);
    router.stop();
    models.drain();
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
  std::unique_ptr<Impl> impl = std::make_unique<Impl>(std::move(options));
  for (std::unique_ptr<EmbedService>& model : models) TRY_VOID(impl->models.add(std::move(model)));
  Router& router = impl->router;
  impl->http = TRY(HttpServer::listen(
      impl->options.http,
      [&router](HttpRequest request, HttpReply reply) { router.handle(std::move(request), std::move(reply)); },
      [&router](int status, std::string_view message, std::string_view path) { return router.refuse(status, message, path); }));
  for (const DoorMaker& open : impl->options.doors) impl->doors.push_back(TRY(open(impl->door_context)));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

int Server::port() const { return impl_->http->port(); }

std::vector<int> Server::door_ports() const {
  std::vector<int> ports;
  for (const std::unique_ptr<Door>& door : impl_->doors) ports.push_back(door->port());
  return ports;
}

int Server::run() {
  const int cut = impl_->http->run();
  impl_->stop();
  return cut;
}

void Server::drain() { impl_->http->drain(); }
const Metrics& Server::metrics() const { return impl_->metrics; }

}  // namespace inlay
