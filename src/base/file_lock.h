// A lock between processes, as a file.
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"

namespace inlay {

// Held by one FileLock at a time among all processes that lock the same file with flock(2); let go by the destructor or when
// the process ends. The file itself stays.
class FileLock {
 public:
  // Makes the file (its folder must be there) and waits until nobody else holds it. `is_cancelled` is asked several times a
  // second meanwhile and ends the wait with kCancelled.
  static Result<FileLock> wait(const std::filesystem::path& file, const std::function<bool()>& is_cancelled);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace inlay
