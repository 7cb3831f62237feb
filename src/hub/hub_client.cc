#include "hub/hub_client.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "base/json.h"
#include "base/log.h"
#include "hub/file_hash.h"
#include "hub/hub_cache.h"

namespace inlay {
namespace {

constexpr int kAttempts = 5;
constexpr std::chrono::milliseconds kFirstPause(500);    // doubles: 0.5, 1, 2, 4 seconds
constexpr size_t kMaxListing = size_t{64} << 20;         // bytes
constexpr uint64_t kMaxUnknownSize = uint64_t{1} << 30;  // of a file whose size the server doesn't say
constexpr int kMaxMoves = 5;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePointer = std::unique_ptr<std::FILE, FileCloser>;

Error write_failure(const std::filesystem::path& path) {
  const int number = errno;
  const ErrorCode code = number == ENOSPC || number == EDQUOT ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgument;
  return {code, fmt::format("{}: cannot write: {}", path.string(), std::strerror(number))};
}

uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

// W/"abc" -> abc
std::string plain_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

// Whether another attempt may do better. A disk that is full is unavailable too, but stays full.
bool is_passing(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.message.find("cannot write") == std::string::npos;
}

Result<> check_space(const HubFile& file, const std::filesystem::path& target) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(target.parent_path(), error);
  const uint64_t wanted = file.size.value_or(0) - std::min(file.size.value_or(0), size_of(target));
  if (error || space.available >= wanted) return {};
  return fail(ErrorCode::kUnavailable, "{}: cannot write {} bytes of {} with {} bytes free", target.parent_path().string(),
              wanted, file.path, space.available);
}

}  // namespace

HubClient::HubClient(HubOptions options, std::function<bool()> is_cancelled)
    : options_(std::move(options)), is_cancelled_(std::move(is_cancelled)), http_(is_cancelled_) {}

Result<> HubClient::pause(int attempt) const {
  constexpr std::chrono::milliseconds kSlice(50);
  for (std::chrono::milliseconds left = kFirstPause * (1 << (attempt - 1)); left.count() > 0; left -= kSlice) {
    if (is_cancelled_()) return fail(ErrorCode::kCancelled, "interrupted");
    std::this_thread::sleep_for(kSlice);
  }
  return {};
}

std::optional<Error> HubClient::failure(const FetchResponse& response, const std::string& url) const {
  const int status = response.status;
  if (status >= 200 && status < 400) return std::nullopt;
  const std::string_view reason = response.header("x-error-code");
  const std::string_view said = response.header("x-error-message");
  std::string text = fmt::format("{}: status {}{}{}", url, status, said.empty() ? "" : ": ", said.substr(0, 300));
  if (status == 429 || status >= 500) return Error{ErrorCode::kUnavailable, text};
  if (status == 404 || reason == "RepoNotFound") return Error{ErrorCode::kNotFound, text};
  if (status == 401 || status == 403) {
    text += options_.token.empty()
                ? "; the model is private or gated, or isn't there: set HF_TOKEN"
                : "; HF_TOKEN doesn't open it: accept the model's conditions on its page, or check the token";
    return Error{ErrorCode::kInvalidArgument, text};
  }
  return Error{ErrorCode::kUnavailable, text};
}

Result<HubListing> HubClient::list(const ModelId& id) {
  const std::string url = fmt::format("{}/api/models/{}/revision/{}", options_.endpoint, url_encode(id.repository, true),
                                      url_encode(id.revision, false));
  std::string text;
  for (int attempt = 1;; ++attempt) {
    text.clear();
    const Result<FetchResponse> response = http_.send(
        {.url = url, .token = options_.token}, [&text, &url](const FetchResponse&, std::string_view part) -> Result<> {
          if (text.size() + part.size() > kMaxListing)
            return fail(ErrorCode::kTooLarge, "{}: more than {} bytes", url, kMaxListing);
          text += part;
          return {};
        });
    const std::optional<Error> error = response ? failure(*response, url) : std::optional(response.error());
    if (!error) break;
    if (!is_passing(*error) || attempt == kAttempts) return tl::unexpected<Error>(*error);
    TRY_VOID(pause(attempt));
  }
  const JsonDocument document = TRY(JsonDocument::parse(text, url));
  HubListing listing;
  listing.commit = TRY(document.root().string_or("sha", ""));
  if (!is_commit(listing.commit))
    return fail(ErrorCode::kCorrupt, "{}: sha: found '{}', wanted a commit", url, listing.commit.substr(0, 100));
  const Json files = TRY(document.root().get("siblings"));
  for (const Json& file : TRY(files.items())) {
    const Json name = TRY(file.get("rfilename"));
    listing.files.emplace_back(TRY(name.as_string()));
  }
  return listing;
}

// Headers of a file, whose bytes may lie on another host: a redirect there is the answer, one within the hub is a model that
// was renamed and is followed.
Result<FetchResponse> HubClient::head(const std::string& url) {
  std::string at = url;
  for (int move = 0; move < kMaxMoves; ++move) {
    FetchResponse response = TRY(http_.send({.url = at, .token = options_.token, .is_head = true},
                                            [](const FetchResponse&, std::string_view) { return Result<>(); }));
    const std::string_view location = response.header("location");
    const bool is_move =
        response.status >= 300 && response.status < 400 && location.starts_with('/') && !location.starts_with("//");
    if (!is_move || !response.header("x-linked-etag").empty()) return response;
    at = options_.endpoint.substr(0, options_.endpoint.find('/', options_.endpoint.find("://") + 3)).append(location);
  }
  return fail(ErrorCode::kUnavailable, "{}: more than {} redirects", url, kMaxMoves);
}

Result<HubFile> HubClient::look_up(const ModelId& id, const std::string& commit, const std::string& path) {
  HubFile file = {.path = path,
                  .url = fmt::format("{}/{}/resolve/{}/{}", options_.endpoint, url_encode(id.repository, true), commit,
                                     url_encode(path, true)),
                  .etag = {}};
  for (int attempt = 1;; ++attempt) {
    const Result<FetchResponse> response = head(file.url);
    const std::optional<Error> error = response ? failure(*response, file.url) : std::optional(response.error());
    if (error) {
      if (!is_passing(*error) || attempt == kAttempts) return tl::unexpected<Error>(*error);
      TRY_VOID(pause(attempt));
      continue;
    }
    const std::string_view linked = response->header("x-linked-etag");
    file.etag = plain_etag(linked.empty() ? response->header("etag") : linked);
    file.size = parse_size(linked.empty() ? response->header("content-length") : response->header("x-linked-size"));
    if (HubCache::is_plain_etag(file.etag)) return file;
    return fail(ErrorCode::kUnsupported, "{}: no usable ETag: '{}'; is this a hub?", file.url, file.etag.substr(0, 100));
  }
}

Result<> HubClient::fetch_rest(const HubFile& file, const std::filesystem::path& target,
                               const std::function<void(uint64_t)>& progress) {
  uint64_t done = size_of(target);
  const uint64_t limit = file.size.value_or(kMaxUnknownSize);
  if (done > limit || (file.size && done == limit && limit > 0)) {
    if (done == limit) return {};
    std::error_code ignored;
    std::filesystem::remove(target, ignored);
    done = 0;
  }
  FilePointer out(std::fopen(target.c_str(), done == 0 ? "wb" : "ab"));
  if (!out) return tl::unexpected<Error>(write_failure(target));
  const uint64_t begin = done;
  bool is_first = true;
  const HttpClient::Sink sink = [&](const FetchResponse& response, std::string_view part) -> Result<> {
    if (std::exchange(is_first, false) && begin > 0) {
      const bool goes_on =
          response.status == 206 && response.header("content-range").starts_with(fmt::format("bytes {}-", begin));
      if (!goes_on) {  // The server begins anew.
        out.reset(std::fopen(target.c_str(), "wb"));
        if (!out) return tl::unexpected<Error>(write_failure(target));
        done = 0;
      }
    }
    if (done + part.size() > limit)
      return fail(ErrorCode::kCorrupt, "{}: more than the {} bytes it should have", file.url, limit);
    if (std::fwrite(part.data(), 1, part.size(), out.get()) != part.size()) return tl::unexpected<Error>(write_failure(target));
    done += part.size();
    progress(done);
    return {};
  };
  const FetchResponse response = TRY(http_.send({.url = file.url, .token = options_.token, .resume_from = begin}, sink));
  if (std::fflush(out.get()) != 0) return tl::unexpected<Error>(write_failure(target));
  if (response.status == 416) {
    std::error_code ignored;
    std::filesystem::remove(target, ignored);
    return fail(ErrorCode::kUnavailable, "{}: the server has no byte {}", file.url, begin);
  }
  if (const std::optional<Error> error = failure(response, file.url)) return tl::unexpected<Error>(*error);
  if (file.size && done != *file.size) {
    return fail(ErrorCode::kUnavailable, "{}: {} bytes came, wanted {}; the connection broke", file.url, done, *file.size);
  }
  return {};
}

// An attempt that got further counts as none, so that a large file comes through a bad line.
Result<> HubClient::fetch_whole(const HubFile& file, const std::filesystem::path& target,
                                const std::function<void(uint64_t)>& progress) {
  for (int attempt = 1;; ++attempt) {
    const uint64_t before = size_of(target);
    const Result<> fetched = fetch_rest(file, target, progress);
    if (fetched || !is_passing(fetched.error())) return fetched;
    if (size_of(target) > before) attempt = 1;
    if (attempt == kAttempts) return fetched;
    spdlog::info("{}; trying again", fetched.error().message);
    TRY_VOID(pause(attempt));
  }
}

Result<> HubClient::download(const HubFile& file, const std::filesystem::path& target,
                             const std::function<void(uint64_t)>& progress) {
  TRY_VOID(check_space(file, target));
  Result<> checked;
  // What was there from an earlier download may be to blame for a wrong hash, so the file is fetched once more as a whole.
  for (int attempt = 0; attempt < 2; ++attempt) {
    TRY_VOID(fetch_whole(file, target, progress));
    checked = check_etag(target, file.etag);
    if (checked) return {};
    std::error_code ignored;
    std::filesystem::remove(target, ignored);
  }
  return checked.map_error(within(file.url));
}

}  // namespace inlay
