#include "server/http/http.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ctime>

namespace inlay {
namespace {

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday, kMonths[parts.tm_mon],
                     parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// 204 and 304 have no body and no length.
bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

HttpResponse json_response(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

std::string_view http_reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 424: return "Failed Dependency";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Unknown";
  }
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    unsigned value = 0;
    const char* begin = text.data() + i + 1;
    const std::from_chars_result parsed = std::from_chars(begin, begin + 2, value, 16);
    if (parsed.ec != std::errc() || parsed.ptr != begin + 2 || value == 0) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

std::string http_head(const HttpResponse& response, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: inlay\r\nDate: {}\r\n", response.status,
                                 http_reason(response.status), http_date());
  if (may_have_body(response.status)) {
    if (!response.body.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace inlay
