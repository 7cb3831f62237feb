// Whole requests, from the router to an answer of a made-up model. The input is a request as curl -v shows it: a line "POST
// /embed", header lines, an empty line, the body.
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "fuzz_target.h"
#include "server/server_testing.h"

namespace inlay {
namespace {

HttpMethod method_of(std::string_view name) {
  if (name == "GET") return HttpMethod::kGet;
  if (name == "HEAD") return HttpMethod::kHead;
  if (name == "OPTIONS") return HttpMethod::kOptions;
  return name == "POST" ? HttpMethod::kPost : HttpMethod::kOther;
}

std::string_view take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

HttpRequest request_of(std::string_view bytes) {
  HttpRequest request;
  const std::string_view first = take_line(bytes);
  const size_t space = std::min(first.find(' '), first.size());
  request.method = method_of(first.substr(0, space));
  request.path = first.substr(std::min(space + 1, first.size()));
  for (std::string_view line = take_line(bytes); !line.empty(); line = take_line(bytes)) {
    const size_t colon = std::min(line.find(':'), line.size());
    request.headers.emplace_back(line.substr(0, colon), trim(line.substr(std::min(colon + 1, line.size()))));
  }
  request.body = bytes;
  return request;
}

// Failures of a made-up model that never fails: the server's own, then. Answers may repeat what was asked, so words that the
// request has itself prove nothing; libFuzzer finds them by watching comparisons.
bool is_our_fault(const HttpResponse& response, std::string_view asked) {
  constexpr std::string_view kWords = "the server failed to handle the request";
  return response.status == 500 ||
         (response.body.find(kWords) != std::string::npos && asked.find(kWords) == std::string_view::npos);
}

bool ask(RouterUnderTest& router, std::string_view bytes) {
  const HttpRequest request = request_of(bytes);
  const HttpResponse response = router.ask(request);
  INLAY_CHECK(!is_our_fault(response, bytes), "a request is answered or refused");
  if (response.content_type == "application/json" && !response.body.empty()) {
    INLAY_CHECK(JsonDocument::parse(response.body, "answer").has_value(), "an answer is JSON");
  }
  return response.status == 200;
}

RouterOptions admin_options() {
  RouterOptions options;
  INLAY_CHECK(options.admin_keys.add("the-admin-key").has_value(), "the key is long enough");
  return options;
}

}  // namespace

bool fuzz_router(std::string_view bytes) {
  static RouterUnderTest router;
  return ask(router, bytes);
}

// Models come and go, so every input gets a router of its own.
bool fuzz_admin(std::string_view bytes) {
  RouterUnderTest router(admin_options());
  return ask(router, bytes);
}

}  // namespace inlay
