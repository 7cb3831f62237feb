#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace inlay {

Result<FileLock> FileLock::wait(const std::filesystem::path& file, const std::function<bool()>& is_cancelled) {
  constexpr std::chrono::milliseconds kPause(100);
  FileLock lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.descriptor_ < 0) {
    return fail(ErrorCode::kInvalidArgument, "{}: cannot open: {}", file.string(), std::strerror(errno));
  }
  while (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorCode::kInvalidArgument, "{}: cannot lock: {}", file.string(), std::strerror(errno));
    }
    if (is_cancelled()) return fail(ErrorCode::kCancelled, "interrupted while another process holds {}", file.string());
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace inlay
