// The error idiom of the project: return `Result`, build errors with `fail`, pass them up with TRY.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "inlay/error.h"

namespace inlay {

// fail(ErrorCode::kCorrupt, "{}: header is {} bytes, at most {} are allowed", path, found, limit)
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// Puts `context` before the message of an error: result.map_error(within("config.json")).
inline auto within(std::string context) {
  return [context = std::move(context)](Error error) {
    error.message = context + ": " + error.message;
    return error;
  };
}

}  // namespace inlay

// Gives the value, or returns the error from the enclosing function. Works for Result<void> as well. GCC and Clang.
// Not behind another element within braces: g++ 12 then does not destroy that one when this returns.
#define TRY(expression)                                                                      \
  __extension__({                                                                            \
    auto try_result = (expression);                                                          \
    if (!try_result) return ::tl::unexpected<::inlay::Error>(std::move(try_result).error()); \
    *std::move(try_result);                                                                  \
  })

#define TRY_VOID(expression)                                                                 \
  do {                                                                                       \
    auto try_result = (expression);                                                          \
    if (!try_result) return ::tl::unexpected<::inlay::Error>(std::move(try_result).error()); \
  } while (false)
