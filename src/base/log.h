// Logs go to stderr; standard output belongs to results. Thread-safe.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

#include "base/result.h"

namespace inlay {

// Sends spdlog's default logger to stderr. Call once, first thing in main().
void start_log();

// trace, debug, info, warn, error or off.
Result<> set_log_level(std::string_view level);

}  // namespace inlay
