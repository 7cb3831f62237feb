#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <array>
#include <memory>
#include <string>

namespace inlay {

void start_log() {
  auto logger = std::make_shared<spdlog::logger>("inlay", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_default_logger(std::move(logger));
}

Result<> set_log_level(std::string_view level) {
  static constexpr std::array<std::string_view, 6> kNames = {"trace", "debug", "info", "warn", "error", "off"};
  for (const std::string_view name : kNames) {
    if (name == level) {
      spdlog::set_level(spdlog::level::from_str(std::string(level)));
      return {};
    }
  }
  return fail(ErrorCode::kInvalidArgument, "log level '{}' is none of trace, debug, info, warn, error, off", level);
}

}  // namespace inlay
