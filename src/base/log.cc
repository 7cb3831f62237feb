#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <array>
#include <memory>
#include <string>

#include "base/json_writer.h"

namespace inlay {
namespace {

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    head_.format(message, out);
    const std::string_view text(message.payload.data(), message.payload.size());
    if (text.size() > 2 && text.front() == '{' && text.back() == '}') {
      out.append(text.substr(1));
    } else {
      std::string quoted = "\"message\":";
      append_json_string(quoted, text);
      quoted += '}';
      out.append(quoted);
    }
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }

 private:
  spdlog::pattern_formatter head_{R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",)", spdlog::pattern_time_type::local, ""};
};

}  // namespace

void start_log() {
  auto logger = std::make_shared<spdlog::logger>("inlay", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_default_logger(std::move(logger));
}

void log_as_json() { spdlog::set_formatter(std::make_unique<JsonFormatter>()); }

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
