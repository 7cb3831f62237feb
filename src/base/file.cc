#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace inlay {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

tl::unexpected<Error> system_failure(const std::filesystem::path& path, const char* what) {
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
  return fail(code, "{}: cannot {}: {}", path.string(), what, std::strerror(errno));
}

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

// Without waiting for a writer, if it is a pipe.
int open_to_read(const std::filesystem::path& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

// The stamp of a regular file; devices, pipes and folders are refused since their size says nothing.
Result<FileStamp> regular_stamp(const Descriptor& file, const std::filesystem::path& path) {
  if (file.get() < 0) return system_failure(path, "open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_failure(path, "read the size");
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalidArgument, "{}: not a regular file", path.string());
  return FileStamp{
      .size = static_cast<uint64_t>(status.st_size),
      .modified_ns = nanoseconds(status.st_mtim),
      .changed_ns = nanoseconds(status.st_ctim),
      .is_trusted = (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes) {
  const Descriptor file(open_to_read(path));
  const uint64_t size = TRY(regular_stamp(file, path)).size;
  if (size > max_bytes) return fail(ErrorCode::kTooLarge, "{}: {} bytes, at most {} are read", path.string(), size, max_bytes);
  std::string text(size, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path, "read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(open_to_read(path));
  const FileStamp stamp = TRY(regular_stamp(file, path));
  if (stamp.size == 0) return MappedFile(nullptr, stamp);
  void* data = ::mmap(nullptr, stamp.size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return system_failure(path, "map");
  return MappedFile(static_cast<const std::byte*>(data), stamp);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), stamp_(other.stamp_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release_all() const noexcept {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

void MappedFile::release(size_t offset, size_t size) const noexcept {
  static const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = (offset + size) / page * page;
  if (begin < end && end <= size_ + page) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace inlay
