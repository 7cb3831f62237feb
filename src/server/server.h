// The whole server: models behind dialects behind HTTP.
#pragma once

#include <memory>

#include "base/result.h"
#include "server/door.h"
#include "server/http/http_server.h"
#include "server/router.h"

namespace inlay {

struct ServerOptions {
  HttpOptions http;
  RouterOptions router;
  EmbedPolicy policy;
  std::vector<DoorMaker> doors;  // besides HTTP
  int workers = 2;               // threads that read requests, tokenise and render
  ModelLoader load;              // for models that come while the server runs; null: none may
};

// The models that a server begins with. The first answers requests that name none.
using ServedModels = std::vector<std::unique_ptr<EmbedService>>;

class Server {
 public:
  // Binds; `models` must not be empty and their names must differ.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, ServedModels models);
  ~Server();

  int port() const;
  // Of the doors, in their order.
  std::vector<int> door_ports() const;
  // Serves until drain(), or a signal where the options let it take signals. Returns the number of connections that had to be cut off.
  int run();
  // Any thread.
  void drain();
  const Metrics& metrics() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inlay
