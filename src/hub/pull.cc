#include "hub/pull.h"

#include <algorithm>
#include <system_error>

#include "base/log.h"
#include "hub/hub_cache.h"
#include "hub/hub_client.h"
#include "hub/needed_files.h"

namespace inlay {
namespace {

// The snapshot of an earlier download, if it can be a whole one: a model has a configuration, or is one file.
std::optional<std::filesystem::path> cached_snapshot(const HubCache& cache, const ModelId& id) {
  const std::optional<std::string> commit = cache.commit_of(id.revision);
  if (!commit) return std::nullopt;
  if (cache.has(*commit, "config.json") || cache.has(*commit, "modules.json")) return cache.snapshot(*commit);
  std::error_code error;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(cache.snapshot(*commit), error)) {
    if (entry.path().extension() == ".gguf") return cache.snapshot(*commit);
  }
  return std::nullopt;
}

class Pull {
 public:
  Pull(const ModelId& id, const HubOptions& hub, const PullOptions& options)
      : id_(id), options_(options), cache_(hub.cache, id.repository), client_(hub, options.is_cancelled) {}

  Result<std::filesystem::path> run() {
    const HubListing listing = TRY(client_.list(id_));
    const std::vector<std::string> files = needed_files(listing.files);
    const bool is_model = std::any_of(files.begin(), files.end(), [](const std::string& file) {
      return file.ends_with(".safetensors") || file.ends_with(".bin") || file.ends_with(".onnx") || file.ends_with(".gguf");
    });
    if (!is_model) {
      return fail(ErrorCode::kUnsupported,
                  "{}: no weights among its {} files; wanted safetensors, pytorch_model.bin, ONNX or GGUF", id_.repository,
                  listing.files.size());
    }
    for (size_t i = 0; i < files.size(); ++i) {
      if (cache_.has(listing.commit, files[i])) continue;
      TRY_VOID(fetch(listing.commit, {.file = files[i], .number = i + 1, .files = files.size()}));
    }
    // Written last: who reads it finds a whole snapshot.
    TRY_VOID(cache_.write_ref(id_.revision, listing.commit));
    return cache_.snapshot(listing.commit);
  }

 private:
  Result<> fetch(const std::string& commit, PullProgress progress) {
    const HubFile file = TRY(client_.look_up(id_, commit, progress.file));
    progress.total = file.size.value_or(0);
    const FileLock lock = TRY(cache_.lock(file.etag, options_.is_cancelled));
    std::error_code ignored;
    // Another process may have fetched it while this one waited.
    if (!std::filesystem::exists(cache_.blob(file.etag), ignored)) {
      TRY_VOID(client_.download(file, cache_.incomplete(file.etag), [this, &progress](uint64_t done) {
        progress.done = done;
        options_.progress(progress);
      }));
      TRY_VOID(cache_.finish(file.etag));
    }
    return cache_.link(commit, progress.file, file.etag);
  }

  const ModelId& id_;
  const PullOptions& options_;
  HubCache cache_;
  HubClient client_;
};

}  // namespace

Result<std::filesystem::path> pull_model(const ModelId& id, const HubOptions& hub, const PullOptions& options) {
  const HubCache cache(hub.cache, id.repository);
  const std::optional<std::filesystem::path> cached = cached_snapshot(cache, id);
  if (hub.offline) {
    if (cached) return *cached;
    return fail(ErrorCode::kNotFound, "{}@{} is not in {}, and HF_HUB_OFFLINE forbids to fetch it", id.repository, id.revision,
                hub.cache.string());
  }
  Result<std::filesystem::path> pulled = Pull(id, hub, options).run();
  if (pulled || pulled.error().code != ErrorCode::kUnavailable || !cached) return pulled;
  spdlog::warn("{}; using {} of an earlier download", pulled.error().message, cached->string());
  return *cached;
}

}  // namespace inlay
