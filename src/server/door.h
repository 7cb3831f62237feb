// Another way into the server besides HTTP: the same models and the same flow of requests, another wire.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "server/auth.h"
#include "server/embed_flow.h"

namespace inlay {

class Door {
 public:
  virtual ~Door() = default;
  virtual int port() const = 0;
  // Takes nothing new and returns when what has begun is answered, or cancelled because `limit` has passed.
  virtual void close(std::chrono::milliseconds limit) = 0;
};

// What a door opens to. Outlives it.
struct DoorContext {
  const EmbedContext& requests;
  const ApiKeys& keys;
  std::function<Gauges()> gauges;  // any thread
};

// Opens the door: requests may come from now on.
using DoorMaker = std::function<Result<std::unique_ptr<Door>>(const DoorContext&)>;

}  // namespace inlay
