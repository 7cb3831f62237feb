#include "hub/hub_cache.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"

namespace inlay {
namespace {

std::string folder_name(std::string_view repository) {
  std::string name = "models";
  for (const std::string_view part : split(repository, '/')) name.append("--").append(part);
  return name;
}

Result<> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error || std::filesystem::is_directory(folder)) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: cannot make this folder of the cache: {}", folder.string(), error.message());
}

}  // namespace

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

HubCache::HubCache(const std::filesystem::path& root, std::string_view repository)
    : folder_(root / folder_name(repository)), locks_(root / ".locks" / folder_name(repository)) {}

std::optional<std::string> HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  constexpr uint64_t kMaxRefBytes = 1000;
  const Result<std::string> text = read_file(folder_ / "refs" / revision, kMaxRefBytes);
  if (!text || !is_commit(trim(*text))) return std::nullopt;
  return std::string(trim(*text));
}

Result<> HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit || commit_of(revision) == commit) return {};
  const std::filesystem::path file = folder_ / "refs" / revision;
  TRY_VOID(make_folder(file.parent_path()));
  OutputFile out = TRY(OutputFile::create(file.string()));
  TRY_VOID(out.write(commit));
  return out.commit();
}

bool HubCache::has(const std::string& commit, const std::string& path) const {
  std::error_code ignored;
  return std::filesystem::is_regular_file(snapshot(commit) / path, ignored);
}

bool HubCache::is_plain_etag(std::string_view etag) {
  if (etag.empty() || etag.size() > 200 || etag.front() == '.') return false;
  return std::all_of(etag.begin(), etag.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

Result<FileLock> HubCache::lock(const std::string& etag, const std::function<bool()>& is_cancelled) const {
  TRY_VOID(make_folder(locks_));
  TRY_VOID(make_folder(folder_ / "blobs"));
  return FileLock::wait(locks_ / (etag + ".lock"), is_cancelled);
}

Result<> HubCache::finish(const std::string& etag) const {
  std::error_code error;
  std::filesystem::rename(incomplete(etag), blob(etag), error);
  if (!error) return {};
  return fail(ErrorCode::kInternal, "{}: cannot rename: {}", incomplete(etag).string(), error.message());
}

Result<> HubCache::link(const std::string& commit, const std::string& path, const std::string& etag) const {
  const std::filesystem::path file = snapshot(commit) / path;
  TRY_VOID(make_folder(file.parent_path()));
  const std::filesystem::path target = std::filesystem::relative(blob(etag), file.parent_path());
  // A link can't be replaced at one stroke, but a name can.
  const std::filesystem::path fresh = file.string() + ".link-" + etag.substr(0, 8);
  std::error_code error;
  std::filesystem::remove(fresh, error);
  std::filesystem::create_symlink(target, fresh, error);
  if (!error) std::filesystem::rename(fresh, file, error);
  if (!error) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: cannot link to {}: {}", file.string(), target.string(), error.message());
}

}  // namespace inlay
