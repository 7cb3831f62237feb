// Requests over HTTP and HTTPS, as downloads need them. The only file that includes the HTTP library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inlay {

struct FetchRequest {
  std::string url;
  std::string token = {};    // sent as a bearer token to the host of `url` alone, also when it redirects to others
  bool is_head = false;      // redirects are not followed, so that their headers can be read
  uint64_t resume_from = 0;  // first byte wanted
};

struct FetchResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers = {};  // of the last response; names in lower case

  std::string_view header(std::string_view name) const;
};

// Used by one thread at a time; keeps its connection between requests.
class HttpClient {
 public:
  // Takes a part of the body. Its error ends the request and is returned.
  using Sink = std::function<Result<>(const FetchResponse& response, std::string_view part)>;

  // `is_cancelled` is asked at least once a second and ends a request with kCancelled.
  explicit HttpClient(std::function<bool()> is_cancelled);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any status is a result, and only bodies of 200 and 206 go to `sink`. A server that can't be reached, or doesn't go on for
  // half a minute, is kUnavailable.
  Result<FetchResponse> send(const FetchRequest& request, const Sink& sink);

 private:
  struct Call;
  std::function<bool()> is_cancelled_;
  void* handle_ = nullptr;
};

// Percent-encodes all but letters, digits and "-._~", and slashes if they are to stay.
std::string url_encode(std::string_view text, bool keep_slashes);

}  // namespace inlay
