// Errors as values. Every fallible call of Inlay returns a Result; none throws.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace inlay {

// What kind of thing went wrong. One table (cli/exit_code.cc) maps these to exit codes, another will map them to HTTP and gRPC.
enum class ErrorCode {
  kInvalidArgument,  // the caller's input or usage is wrong
  kNotFound,         // a file, model or prompt name that does not exist
  kTooLarge,         // beyond a stated limit
  kUnsupported,      // well-formed, but Inlay has no code for it
  kOverloaded,       // try again later
  kCancelled,        // the caller went away
  kCorrupt,          // a file that contradicts itself or its format
  kUnavailable,      // not ready or shutting down
  kInternal,         // a fault of Inlay or of the machine
};

// `message` says what was found and what was wanted, with the file, field, line or item.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <class T = void>
using Result = tl::expected<T, Error>;

}  // namespace inlay
