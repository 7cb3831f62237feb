// What a hub answers: which files a model has, what they are, and their bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/http_client.h"
#include "hub/hub_options.h"
#include "hub/model_id.h"

namespace inlay {

struct HubListing {
  std::string commit;
  std::vector<std::string> files;
};

struct HubFile {
  std::string path;  // in the repository
  std::string url;   // of its bytes
  std::string etag;  // names its contents
  std::optional<uint64_t> size = {};
};

// Used by one thread at a time. What fails for a passing reason (no connection, 429, 5xx) is tried again a few times, later and
// later; then it is kUnavailable. A model that isn't there is kNotFound, one that wants a token or a consent kInvalidArgument.
class HubClient {
 public:
  HubClient(HubOptions options, std::function<bool()> is_cancelled);

  Result<HubListing> list(const ModelId& id);
  Result<HubFile> look_up(const ModelId& id, const std::string& commit, const std::string& path);
  // Fetches into `target`, going on where an earlier download stopped. `progress` is told of bytes that are there. The file
  // then has the size and the contents that `file` says; if it hasn't, it is removed.
  Result<> download(const HubFile& file, const std::filesystem::path& target, const std::function<void(uint64_t)>& progress);

 private:
  Result<FetchResponse> head(const std::string& url);
  Result<> fetch_rest(const HubFile& file, const std::filesystem::path& target, const std::function<void(uint64_t)>& progress);
  Result<> fetch_whole(const HubFile& file, const std::filesystem::path& target, const std::function<void(uint64_t)>& progress);
  // Waits before attempt `attempt`, counted from 1; kCancelled if interrupted.
  Result<> pause(int attempt) const;
  // The error that a status means; nothing for 200, 206 and redirects.
  std::optional<Error> failure(const FetchResponse& response, const std::string& url) const;

  HubOptions options_;
  std::function<bool()> is_cancelled_;
  HttpClient http_;
};

}  // namespace inlay
