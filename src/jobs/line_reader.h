// Lines of an input, one at a time, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inlay {

// Fills the span as far as it can at once and says how many bytes; 0 is the end.
using ByteSource = std::function<Result<size_t>(std::span<char>)>;

struct Line {
  uint64_t number = 0;      // from 1, counting every line of the input
  std::string_view text;    // without its line break (LF or CRLF); valid until the next call
  bool too_long = false;    // more than the limit: `text` is empty and the rest of the line was skipped unread
  bool has_return = false;  // the line break was CRLF
};

// A UTF-8 byte order mark at the start is skipped. Text in UTF-16 and well-known binary formats (gzip, zstd, Parquet) are
// refused by their first bytes, since they would only give nonsense line by line. Used by one thread at a time.
class LineReader {
 public:
  LineReader(ByteSource source, size_t max_line_bytes);

  // nullopt at the end. A last line without a line break counts; an empty rest after the last one does not.
  Result<std::optional<Line>> next();
  // The first byte that is no blank and no line break, without taking it; 0 if the first chunk of the input has none.
  Result<char> first_symbol();
  // Bytes taken so far.
  uint64_t bytes_read() const { return bytes_taken_; }

 private:
  Result<> start();
  Result<> fill();
  Result<std::optional<Line>> skip_long_line();
  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void take(size_t count);

  ByteSource source_;
  size_t max_line_bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // unread bytes are [begin_, end_)
  size_t end_ = 0;
  uint64_t lines_ = 0;
  uint64_t bytes_taken_ = 0;
  bool started_ = false;
  bool at_end_ = false;
};

}  // namespace inlay
