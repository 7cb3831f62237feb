// HTTP as the rest of the server sees it: a request in, a response out. Nothing here knows sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlay {

enum class HttpMethod : uint8_t { kGet, kHead, kPost, kOptions, kOther };

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// One whole request. Chunked bodies arrive joined.
struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string path;     // percent-decoded, without the query
  HttpHeaders headers;  // names in lower case, in the order sent
  std::string body;
  std::string peer;                              // address of the client
  std::shared_ptr<std::atomic<bool>> cancelled;  // true once the client has gone; null outside of a connection

  // The first header of this name (in lower case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers;
  std::string body;
};

// Status 200 with a JSON body.
HttpResponse json_response(std::string body);

// Answers one request. To be called exactly once, from any thread; does nothing if the client has gone.
using HttpReply = std::function<void(HttpResponse)>;

// Takes requests on an I/O thread, so it must not block: slow work goes elsewhere and calls the reply later.
using HttpHandler = std::function<void(HttpRequest, HttpReply)>;

// The body for a request that the HTTP layer itself turns away. `path` is empty where the request line was not understood.
using HttpRefusal = std::function<HttpResponse(int status, std::string_view message, std::string_view path)>;

// "OK" for 200; "Unknown" for what has no name here.
std::string_view http_reason(int status);

// "%20" becomes a space. nullopt for a broken escape or an escaped NUL.
std::optional<std::string> percent_decode(std::string_view text);

// Status line and headers, with the empty line that ends them.
std::string http_head(const HttpResponse& response, bool keep_alive);

}  // namespace inlay
