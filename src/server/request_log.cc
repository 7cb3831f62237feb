#include "server/request_log.h"

#include <algorithm>
#include <chrono>

#include "base/json_writer.h"
#include "base/log.h"

namespace inlay {
namespace {

constexpr size_t kMaxWordBytes = 128;

struct Line {
  std::string id;
  std::string tenant;
  std::string peer;
  std::string path;
  std::string traceparent;  // version-trace-span-flags, or empty
  Clock::time_point start = Clock::now();
};

// The second and third part of "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".
void write_trace(JsonWriter& json, std::string_view traceparent) {
  constexpr size_t kTrace = 3, kTraceBytes = 32, kSpan = 36, kSpanBytes = 16, kBytes = 55;
  if (traceparent.size() < kBytes || traceparent[2] != '-' || traceparent[kSpan - 1] != '-') return;
  json.key("trace_id").value(traceparent.substr(kTrace, kTraceBytes));
  json.key("span_id").value(traceparent.substr(kSpan, kSpanBytes));
}

std::string as_json(const Line& line, const HttpResponse& response, double milliseconds) {
  JsonWriter json;
  json.begin_object().key("message").value("request").key("id").value(line.id).key("path").value(line.path);
  json.key("status").value(response.status).key("ms").value(milliseconds);
  json.key("bytes").value(static_cast<uint64_t>(response.body.size())).key("peer").value(line.peer);
  if (!line.tenant.empty()) json.key("tenant").value(line.tenant);
  write_trace(json, line.traceparent);
  json.end_object();
  return json.take();
}

// The path is a stranger's and may hold anything but a line's end after this.
std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return result;
}

std::string as_text(const Line& line, const HttpResponse& response, double milliseconds) {
  return fmt::format("request id={} peer={} path={}{}{} status={} ms={:.2f} bytes={}", line.id, line.peer, printable(line.path),
                     line.traceparent.empty() ? "" : " traceparent=", line.traceparent, response.status, milliseconds,
                     response.body.size());
}

}  // namespace

bool is_plain_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxWordBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' ||
           c == ':';
  });
}

HttpReply with_request_log(RequestLog log, const IncomingRequest& incoming, HttpReply reply) {
  if (log == RequestLog::kOff) return reply;
  const std::string_view trace = incoming.http.header("traceparent");
  Line line{.id = incoming.id,
            .tenant = incoming.tenant,
            .peer = incoming.http.peer,
            .path = incoming.http.path,
            .traceparent = is_plain_word(trace) ? std::string(trace) : std::string()};
  return [log, line = std::move(line), reply = std::move(reply)](HttpResponse response) {
    const double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - line.start).count();
    const std::string text =
        log == RequestLog::kJson ? as_json(line, response, milliseconds) : as_text(line, response, milliseconds);
    spdlog::info("{}", text);
    reply(std::move(response));
  };
}

}  // namespace inlay
