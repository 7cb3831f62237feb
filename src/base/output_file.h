// Results on their way to a file or to standard output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inlay {

// A file appears under its name only when commit() succeeds: until then the bytes lie beside it under a temporary name, and the
// destructor removes that. What is no regular file (standard output, a device, a named pipe) is written directly.
// Used by one thread at a time. A reader that closed its end of a pipe is kCancelled.
class OutputFile {
 public:
  // "-" is standard output. A missing folder is kNotFound, one without permission kInvalidArgument.
  // `mode` is what open(2) takes, before the umask.
  static Result<OutputFile> create(const std::string& path, unsigned mode = 0666);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Appends; small writes are gathered.
  Result<> write(std::string_view bytes);
  // Hands everything over to the system, so that a reader of a pipe sees it.
  Result<> flush();
  // Replaces bytes written before; only where is_rewritable().
  Result<> rewrite(uint64_t offset, std::string_view bytes);
  // Flushes, closes and gives the file its name.
  Result<> commit();

  bool is_rewritable() const { return !temporary_.empty(); }
  // The path, or "stdout"; for messages.
  const std::string& name() const { return name_; }

 private:
  OutputFile() = default;
  Result<> write_through(std::string_view bytes);

  int descriptor_ = -1;
  std::string name_;
  std::string target_;     // where commit() puts the file
  std::string temporary_;  // empty: written directly
  std::string pending_;
};

// A whole file at once; "-" is standard output.
Result<> write_file(const std::string& path, std::string_view text);

}  // namespace inlay
