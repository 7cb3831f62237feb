#include "server/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "base/json.h"
#include "base/log.h"

namespace inlay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// What is logged while it lives.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

IncomingRequest request(std::string path, std::string trace) {
  IncomingRequest incoming;
  incoming.http.path = std::move(path);
  incoming.http.body = "a secret text";
  incoming.http.headers = {{"traceparent", std::move(trace)}, {"authorization", "Bearer a-secret-key"}};
  incoming.id = "r-1";
  incoming.tenant = "team";
  return incoming;
}

TEST(RequestLog, JsonHoldsTheTraceAndNothingSecret) {
  const CapturedLog log;
  log_as_json();
  with_request_log(RequestLog::kJson, request("/embed", kTrace), [](const HttpResponse&) {})(json_response("{}"));
  const Result<JsonDocument> line = JsonDocument::parse(log.text(), "line");
  ASSERT_TRUE(line) << log.text();
  const Json root = line->root();
  EXPECT_EQ(root.string_or("level", "").value(), "info");
  EXPECT_EQ(root.string_or("message", "").value(), "request");
  EXPECT_EQ(root.string_or("trace_id", "").value(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(root.string_or("span_id", "").value(), "00f067aa0ba902b7");
  EXPECT_EQ(root.string_or("tenant", "").value(), "team");
  EXPECT_EQ(root.int_or("status", 0).value(), 200);
  EXPECT_THAT(log.text(), Not(HasSubstr("secret")));
}

TEST(RequestLog, OtherMessagesBecomeJsonToo) {
  const CapturedLog log;
  log_as_json();
  spdlog::warn("a \"quoted\" message\nwith two lines");
  const Result<JsonDocument> line = JsonDocument::parse(log.text(), "line");
  ASSERT_TRUE(line) << log.text();
  EXPECT_EQ(line->root().string_or("message", "").value(), "a \"quoted\" message\nwith two lines");
}

TEST(RequestLog, AStrangersPathAddsNoLines) {
  const CapturedLog log;
  with_request_log(RequestLog::kText, request("/a\n2026 fake line", "bad trace\n"),
                   [](const HttpResponse&) {})(json_response("{}"));
  EXPECT_THAT(log.text(), HasSubstr("path=/a?2026 fake line status=200"));
  EXPECT_THAT(log.text(), Not(HasSubstr("traceparent")));
}

}  // namespace
}  // namespace inlay
