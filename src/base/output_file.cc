#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

namespace inlay {
namespace {

constexpr size_t kPendingBytes = 256 * 1024;

tl::unexpected<Error> output_failure(const std::string& name, const char* what) {
  switch (errno) {
    case ENOENT:
    case ENOTDIR: return fail(ErrorCode::kNotFound, "{}: cannot {}: {}", name, what, std::strerror(errno));
    case EPIPE: return fail(ErrorCode::kCancelled, "{}: nobody reads it any more", name);
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EMFILE: return fail(ErrorCode::kInternal, "{}: cannot {}: {}", name, what, std::strerror(errno));
    default: return fail(ErrorCode::kInvalidArgument, "{}: cannot {}: {}", name, what, std::strerror(errno));
  }
}

// Renaming onto a link would replace the link; the file that it leads to is meant.
std::string resolve_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  return error ? path : resolved.string();
}

// A new file beside `target`, whose name nobody can guess: neither another process with the same id in another container nor
// somebody who would like us to write through a link of theirs.
int create_temporary(const std::string& target, unsigned mode, std::string& name) {
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}.{:08x}{:08x}.tmp", target, random(), random());
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, unsigned mode) {
  OutputFile file;
  file.name_ = path == "-" ? "stdout" : path;
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, "the output has an empty name");
  struct stat status {};
  const bool exists = path != "-" && ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "{}: found a folder, wanted a file", file.name_);
  }
  if (path == "-") {
    file.descriptor_ = ::dup(STDOUT_FILENO);
  } else if (exists && !S_ISREG(status.st_mode)) {
    file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.target_ = exists ? resolve_links(path) : path;
    file.descriptor_ = create_temporary(file.target_, mode, file.temporary_);
    if (file.descriptor_ < 0) file.temporary_.clear();
  }
  if (file.descriptor_ < 0) return output_failure(file.name_, "create");
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      pending_(std::move(other.pending_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(pending_, other.pending_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<> OutputFile::write_through(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return output_failure(name_, "write");
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return {};
}

Result<> OutputFile::write(std::string_view bytes) {
  pending_ += bytes;
  return pending_.size() < kPendingBytes ? Result<>() : flush();
}

Result<> OutputFile::flush() {
  const Result<> done = write_through(pending_);
  pending_.clear();
  return done;
}

Result<> OutputFile::rewrite(uint64_t offset, std::string_view bytes) {
  TRY_VOID(flush());
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return output_failure(name_, "write");
    bytes.remove_prefix(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

Result<> OutputFile::commit() {
  TRY_VOID(flush());
  if (::close(std::exchange(descriptor_, -1)) != 0) return output_failure(name_, "write");
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return output_failure(name_, "create");
  temporary_.clear();
  return {};
}

Result<> write_file(const std::string& path, std::string_view text) {
  OutputFile file = TRY(OutputFile::create(path));
  TRY_VOID(file.write(text));
  return file.commit();
}

}  // namespace inlay
