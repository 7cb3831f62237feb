// Routes that load and unload models: /admin/models, and KServe's model repository. Who may use them is the router's to say.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/failure.h"
#include "server/model_registry.h"
#include "server/work_pool.h"

namespace inlay {

// A model to load. May take seconds.
struct LoadRequest {
  std::string name;    // what clients will call it
  std::string folder;  // empty: where the model of this name came from before
  double weight = 1;   // its share of the cores, against the other models'
};
using ModelLoader = std::function<Result<std::unique_ptr<EmbedService>>(const LoadRequest&)>;

class AdminRoutes {
 public:
  // Both outlive the routes. `load` may be null: then models only go.
  AdminRoutes(ModelRegistry& models, ModelLoader load) : models_(models), load_(std::move(load)) {}

  static constexpr std::array<std::string_view, 6> kRoutes = {
      "get /admin/models",         "post /admin/models/{model}/load",         "post /admin/models/{model}/unload",
      "post /v2/repository/index", "post /v2/repository/models/{model}/load", "post /v2/repository/models/{model}/unload"};
  // Whether a path is one of these.
  static bool has(std::string_view path);
  // Never blocks: one model after the other is loaded or unloaded in a thread of its own.
  void handle(HttpRequest request, HttpReply reply);
  // Waits for what is under way; nothing may come afterwards.
  void stop() { pool_.reset(); }

 private:
  HttpResponse answer(const HttpRequest& request);
  HttpResponse load(const std::string& name, const HttpRequest& request, Dialect dialect);
  HttpResponse unload(const std::string& name, Dialect dialect);

  ModelRegistry& models_;
  ModelLoader load_;
  std::unique_ptr<WorkPool> pool_ = std::make_unique<WorkPool>(1);
};

}  // namespace inlay
