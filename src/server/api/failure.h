// What went wrong with a request, and how each dialect says so: status, words and shape.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/http/http.h"

namespace inlay {

// Of kGrpc, a status is a gRPC status code and a failure's body its message.
enum class Dialect : uint8_t { kOpenAi, kTei, kCohere, kOllama, kKServe, kGrpc };
inline constexpr int kDialects = static_cast<int>(Dialect::kGrpc) + 1;

enum class Fault : uint8_t {
  kSyntax,         // no JSON
  kType,           // JSON of another shape than wanted
  kInvalid,        // a value that makes no sense
  kEmpty,          // an empty list
  kTooLong,        // a text beyond the model's limit that may not be truncated
  kTooLarge,       // the whole request is beyond a limit
  kUnauthorized,   //
  kForbidden,      // nobody may
  kModelNotFound,  //
  kRouteNotFound,  //
  kMethod,         // the route has another method
  kModelKind,      // the model cannot do what the route is for
  kOverloaded,     // try again later
  kDeadline,       // the time the client gave is over
  kUnavailable,    // starting or shutting down
  kCancelled,      // the client went away
  kInternal,
};
inline constexpr int kFaults = static_cast<int>(Fault::kInternal) + 1;

struct Failure {
  Fault fault = Fault::kInternal;
  std::string message;
  std::chrono::milliseconds retry_after{0};  // for kOverloaded and kUnavailable
};

// The name that logs and metrics use: "too_long".
std::string_view fault_name(Fault fault);

// From an error of reading or checking a request body.
Failure failure_of(const Error& error);

int failure_status(Dialect dialect, Fault fault);
HttpResponse render_failure(Dialect dialect, const Failure& failure);

// The dialect that a path belongs to; OpenAI's for what is nobody's.
Dialect dialect_of(std::string_view path);

}  // namespace inlay
