// Bytes of a file or of standard input, in the order they come. Files of loaders are base/file.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/interrupt.h"
#include "base/result.h"

namespace inlay {

// Used by one thread at a time, but for cancel().
class InputStream {
 public:
  // "-" is standard input. A missing file is kNotFound, a folder kInvalidArgument. `interrupt`, if any, must outlive the
  // stream.
  static Result<InputStream> open(const std::string& path, const Interrupt* interrupt = nullptr);

  InputStream(InputStream&& other) noexcept;
  InputStream& operator=(InputStream&& other) noexcept;
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;
  ~InputStream();

  // Waits for at least one byte, then takes what is there, at most out.size(). 0 is the end. kCancelled after a signal.
  Result<size_t> read(std::span<char> out);

  // From any thread: makes this and every later read() return kCancelled, even while it waits.
  void cancel();

  // The path, or "stdin"; for messages.
  const std::string& name() const { return name_; }
  // Of a regular file, when it was opened.
  std::optional<uint64_t> size() const { return size_; }

 private:
  InputStream() = default;
  Result<> wait_readable() const;

  int descriptor_ = -1;
  int wake_ = -1;  // readable once cancelled
  bool owned_ = false;
  std::string name_;
  std::optional<uint64_t> size_;
  const Interrupt* interrupt_ = nullptr;
};

}  // namespace inlay
