// The folder that huggingface_hub keeps downloads in, with its layout, so that both use the same files:
//   models--org--name/refs/<revision>              the commit that a branch or tag stood for
//   models--org--name/blobs/<etag>                 contents
//   models--org--name/snapshots/<commit>/<path>    links to them
//   .locks/models--org--name/<etag>.lock           held while a blob is written
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_lock.h"
#include "base/result.h"

namespace inlay {

bool is_commit(std::string_view text);  // 40 digits of hexadecimal

class HubCache {
 public:
  HubCache(const std::filesystem::path& root, std::string_view repository);

  // The commit itself, or what the branch or tag was when it was last asked for.
  std::optional<std::string> commit_of(const std::string& revision) const;
  Result<> write_ref(const std::string& revision, const std::string& commit) const;

  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  // Whether the file of a snapshot is there, whole.
  bool has(const std::string& commit, const std::string& path) const;

  // Etags are names of files here; is_plain_etag() says which are accepted.
  static bool is_plain_etag(std::string_view etag);
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  std::filesystem::path incomplete(const std::string& etag) const { return folder_ / "blobs" / (etag + ".incomplete"); }
  Result<FileLock> lock(const std::string& etag, const std::function<bool()>& is_cancelled) const;
  // Gives a download its name as a blob.
  Result<> finish(const std::string& etag) const;
  // Puts a blob into a snapshot.
  Result<> link(const std::string& commit, const std::string& path, const std::string& etag) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path locks_;
};

}  // namespace inlay
