// The way of one embedding request: parse, choose the model, tokenise, submit, render, reply. The same for every dialect.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api/failure.h"
#include "server/embed_service.h"
#include "server/metrics.h"
#include "server/work_pool.h"

namespace inlay {

// The models of one process. The first answers requests that name none.
using ServedModels = std::vector<std::unique_ptr<EmbedService>>;

struct EmbedPolicy {
  Normalize normalize = Normalize::kAuto;  // what a request gets that does not say; auto: as its dialect does
  bool any_model_name = false;             // a model name that is not served gets the first model instead of 404
  std::chrono::milliseconds timeout{0};    // of requests that give none; 0: none
};

// What all requests share; outlives them.
struct EmbedContext {
  const ServedModels& models;
  const EmbedPolicy& policy;
  WorkPool& pool;
  Metrics& metrics;
};

template <class T>
using Parsed = tl::expected<T, Failure>;

// A dialect's route.
struct EmbedRoute {
  Dialect dialect = Dialect::kOpenAi;
  std::function<Parsed<EmbedCall>(const HttpRequest&)> parse;
};

// A request with what the router knows of it.
struct IncomingRequest {
  HttpRequest http;
  std::string id;
  std::string tenant;
};

// nullptr if no model has that name.
EmbedService* find_model(const EmbedContext& context, const std::string& name);
// The prompt that the request's prompt, prompt_name or input_type stands for; nullopt: the engine's own.
Result<std::optional<std::string>> prompt_of(const EmbedRequest& request, const ModelFacts& facts);
// A single text is a query; a long list is an import.
Priority priority_of(const EmbedRequest& request, std::string_view header);

// Goes through the pool; `reply` is called once, in a pool thread.
void embed(const EmbedContext& context, const EmbedRoute& route, IncomingRequest incoming, HttpReply reply);

}  // namespace inlay
