#include "hub/http_client.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"

#ifdef INLAY_DOWNLOADS
#include <curl/curl.h>
#endif

namespace inlay {

#ifdef INLAY_DOWNLOADS
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kStallSeconds = 30;  // with less than a byte a second
constexpr long kMaxRedirects = 8;
constexpr size_t kMaxHeaders = 200;

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

struct HeaderListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, HeaderListDeleter>;

}  // namespace

// What the library's callbacks work on during one request.
struct HttpClient::Call {
  const Sink& sink;
  const std::function<bool()>& is_cancelled;
  FetchResponse response = {};
  std::optional<Error> error = {};

  static size_t take_header(char* data, size_t size, size_t count, void* context) {
    Call& call = *static_cast<Call*>(context);
    const std::string_view line(data, size * count);
    if (line.starts_with("HTTP/")) {  // A new response: the one before was a redirect or a 100.
      call.response.headers.clear();
      const size_t space = line.find(' ');
      call.response.status = space == std::string_view::npos ? 0 : std::atoi(std::string(line.substr(space + 1, 3)).c_str());
      return line.size();
    }
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && call.response.headers.size() < kMaxHeaders) {
      call.response.headers[lower_case(trim(line.substr(0, colon)))] = trim(line.substr(colon + 1));
    }
    return line.size();
  }

  static size_t take_body(char* data, size_t size, size_t count, void* context) {
    Call& call = *static_cast<Call*>(context);
    const std::string_view part(data, size * count);
    if (call.response.status != 200 && call.response.status != 206) return part.size();
    const Result<> taken = call.sink(call.response, part);
    if (taken) return part.size();
    call.error = taken.error();
    return 0;
  }

  static int report_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Call*>(context)->is_cancelled() ? 1 : 0;
  }
};

HttpClient::HttpClient(std::function<bool()> is_cancelled)
    : is_cancelled_(std::move(is_cancelled)), handle_(curl_easy_init()) {}

HttpClient::~HttpClient() { curl_easy_cleanup(handle_); }

Result<FetchResponse> HttpClient::send(const FetchRequest& request, const Sink& sink) {
  if (handle_ == nullptr) return fail(ErrorCode::kInternal, "the HTTP library does not start");
  Call call = {.sink = sink, .is_cancelled = is_cancelled_};
  std::array<char, CURL_ERROR_SIZE> message = {};
  curl_easy_reset(handle_);
  // Bodies must come as they lie on the server, or sizes and ranges would mean nothing.
  HeaderList headers(curl_slist_append(nullptr, "Accept-Encoding: identity"));
  if (!request.token.empty()) {
    curl_slist_append(headers.get(), fmt::format("Authorization: Bearer {}", request.token).c_str());
  }
  curl_easy_setopt(handle_, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle_, CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https:") ? "https" : "http,https");
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle_, CURLOPT_USERAGENT, "inlay");
  curl_easy_setopt(handle_, CURLOPT_NOBODY, request.is_head ? 1L : 0L);
  curl_easy_setopt(handle_, CURLOPT_FOLLOWLOCATION, request.is_head ? 0L : 1L);
  curl_easy_setopt(handle_, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(handle_, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(0));
  const std::string range = fmt::format("{}-", request.resume_from);
  if (request.resume_from > 0) curl_easy_setopt(handle_, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(handle_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle_, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, message.data());
  curl_easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &Call::take_header);
  curl_easy_setopt(handle_, CURLOPT_HEADERDATA, &call);
  curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &Call::take_body);
  curl_easy_setopt(handle_, CURLOPT_WRITEDATA, &call);
  curl_easy_setopt(handle_, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle_, CURLOPT_XFERINFOFUNCTION, &Call::report_progress);
  curl_easy_setopt(handle_, CURLOPT_XFERINFODATA, &call);
  const CURLcode code = curl_easy_perform(handle_);
  if (call.error) return tl::unexpected<Error>(*std::move(call.error));
  if (code == CURLE_ABORTED_BY_CALLBACK) return fail(ErrorCode::kCancelled, "interrupted");
  if (code != CURLE_OK) {
    return fail(ErrorCode::kUnavailable, "{}: {}", request.url, message[0] != '\0' ? message.data() : curl_easy_strerror(code));
  }
  return std::move(call.response);
}

#else

HttpClient::HttpClient(std::function<bool()> is_cancelled) : is_cancelled_(std::move(is_cancelled)) {}
HttpClient::~HttpClient() = default;
Result<FetchResponse> HttpClient::send(const FetchRequest& request, const Sink&) {
  return fail(ErrorCode::kUnsupported, "{}: this build downloads nothing (INLAY_DOWNLOADS is off)", request.url);
}

#endif

std::string_view FetchResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string url_encode(std::string_view text, bool keep_slashes) {
  std::string result;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~").find(c) != std::string_view::npos || (c == '/' && keep_slashes);
    if (is_plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

}  // namespace inlay
