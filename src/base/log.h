// Logs go to stderr; standard output belongs to results. Thread-safe.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

#include "base/result.h"

namespace inlay {

// Sends spdlog's default logger to stderr. Call once, first thing in main().
void start_log();

// From now on each line of the log is a JSON object with `time`, `level` and `message`. A message that is a JSON object itself
// gives its members instead.
void log_as_json();

// trace, debug, info, warn, error or off.
Result<> set_log_level(std::string_view level);

}  // namespace inlay
