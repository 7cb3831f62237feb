// The way of one embedding request: parse, choose the model, tokenise, submit, render, reply. The same for every dialect.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api/failure.h"
#include "server/metrics.h"
#include "server/model_registry.h"
#include "server/work_pool.h"

namespace inlay {

struct EmbedPolicy {
  Normalize normalize = Normalize::kAuto;  // what a request gets that does not say; auto: as its dialect does
  bool any_model_name = false;             // a model name that is not served gets the first model instead of 404
  std::chrono::milliseconds timeout{0};    // of requests that give none; 0: none
};

// What all requests share; outlives them.
struct EmbedContext {
  ModelRegistry& models;
  const EmbedPolicy& policy;
  WorkPool& pool;
  Metrics& metrics;
};

template <class T>
using Parsed = tl::expected<T, Failure>;

// A dialect's route.
struct EmbedRoute {
  Dialect dialect = Dialect::kOpenAi;
  std::function<Parsed<DialectCall>(const HttpRequest&)> parse;
};

// A request with what the router knows of it.
struct IncomingRequest {
  HttpRequest http;
  std::string id;
  std::string tenant;
  size_t bytes = 0;  // of the request, wherever they are
};

// A model, with the prompt that its name asked for.
struct NamedModel {
  ModelRegistry::Lease model;
  std::optional<std::string> prompt_name;
};
// "minilm", or "minilm:query" for the model's prompt of that name. Empty if there is no such model.
NamedModel find_model(const EmbedContext& context, const std::string& name);
// The prompt that the request's prompt, prompt_name or input_type stands for; nullopt: the engine's own.
Result<std::optional<std::string>> prompt_of(const EmbedRequest& request, const ModelFacts& facts);
// A single text is a query; a long list is an import.
Priority priority_of(const EmbedRequest& request, std::string_view header);

// Small requests are read in the calling thread and answered in a lane's, larger ones in the pool's; `reply` is called once.
void embed(const EmbedContext& context, const EmbedRoute& route, IncomingRequest incoming, HttpReply reply);

}  // namespace inlay
