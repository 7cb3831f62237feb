#include "base/input_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace inlay {

Result<InputStream> InputStream::open(const std::string& path, const Interrupt* interrupt) {
  InputStream stream;
  stream.interrupt_ = interrupt;
  stream.owned_ = path != "-";
  stream.name_ = stream.owned_ ? path : "stdin";
  stream.descriptor_ = stream.owned_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  stream.wake_ = ::eventfd(0, EFD_CLOEXEC);
  struct stat status {};
  if (stream.descriptor_ < 0 || ::fstat(stream.descriptor_, &status) != 0) {
    const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
    return fail(code, "{}: cannot open: {}", stream.name_, std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) return fail(ErrorCode::kInvalidArgument, "{}: found a folder, wanted a file", stream.name_);
  if (S_ISREG(status.st_mode)) stream.size_ = static_cast<uint64_t>(status.st_size);
  return stream;
}

InputStream::InputStream(InputStream&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      wake_(std::exchange(other.wake_, -1)),
      owned_(other.owned_),
      name_(std::move(other.name_)),
      size_(other.size_),
      interrupt_(other.interrupt_) {}

InputStream& InputStream::operator=(InputStream&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(wake_, other.wake_);
  std::swap(owned_, other.owned_);
  std::swap(name_, other.name_);
  std::swap(size_, other.size_);
  std::swap(interrupt_, other.interrupt_);
  return *this;
}

InputStream::~InputStream() {
  if (owned_ && descriptor_ >= 0) ::close(descriptor_);
  if (wake_ >= 0) ::close(wake_);
}

void InputStream::cancel() {
  const uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) < 0) return;  // Only a full counter fails, and that one is readable.
}

// A signal that comes between a check of its flag and read() would be missed by read(); poll() on its descriptor is not.
Result<> InputStream::wait_readable() const {
  std::array<pollfd, 3> watched = {
      {{descriptor_, POLLIN, 0}, {wake_, POLLIN, 0}, {interrupt_ ? interrupt_->descriptor() : -1, POLLIN, 0}}};
  while (::poll(watched.data(), watched.size(), -1) < 0) {
    if (errno != EINTR) return fail(ErrorCode::kInternal, "{}: cannot wait for input: {}", name_, std::strerror(errno));
  }
  if (watched[1].revents != 0 || (interrupt_ && interrupt_->requested())) return fail(ErrorCode::kCancelled, "interrupted");
  return {};
}

Result<size_t> InputStream::read(std::span<char> out) {
  while (true) {
    TRY_VOID(wait_readable());
    const ssize_t got = ::read(descriptor_, out.data(), out.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR && errno != EAGAIN) {
      return fail(ErrorCode::kInternal, "{}: cannot read: {}", name_, std::strerror(errno));
    }
  }
}

}  // namespace inlay
