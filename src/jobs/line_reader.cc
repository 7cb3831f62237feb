#include "jobs/line_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace inlay {
namespace {

constexpr size_t kChunkBytes = 256 * 1024;

struct Signature {
  std::string_view bytes;
  std::string_view meaning;
};

constexpr std::array<Signature, 5> kRefused = {{{"\xFF\xFE", "UTF-16 or UTF-32 text"},
                                                {"\xFE\xFF", "UTF-16 text"},
                                                {"\x1F\x8B", "a gzip file"},
                                                {"\x28\xB5\x2F\xFD", "a zstd file"},
                                                {"PAR1", "a Parquet file"}}};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

LineReader::LineReader(ByteSource source, size_t max_line_bytes)
    : source_(std::move(source)), max_line_bytes_(max_line_bytes), buffer_(kChunkBytes) {}

void LineReader::take(size_t count) {
  begin_ += count;
  bytes_taken_ += count;
}

// Reads once. Room is made by moving the unread bytes to the front, then by doubling; callers stop asking at the line limit.
Result<> LineReader::fill() {
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const size_t got = TRY(source_(std::span<char>(buffer_).subspan(end_)));
  end_ += got;
  at_end_ = got == 0;
  return {};
}

Result<> LineReader::start() {
  started_ = true;
  while (!at_end_ && unread().size() < 4) TRY_VOID(fill());
  for (const Signature& signature : kRefused) {
    if (unread().starts_with(signature.bytes)) {
      return fail(ErrorCode::kInvalidArgument, "found {}, wanted UTF-8 text", signature.meaning);
    }
  }
  if (unread().starts_with(kByteOrderMark)) take(kByteOrderMark.size());
  return {};
}

Result<char> LineReader::first_symbol() {
  if (!started_) TRY_VOID(start());
  while (true) {
    const size_t found = unread().find_first_not_of(" \t\r\n");
    if (found != std::string_view::npos) return unread()[found];
    if (at_end_ || unread().size() >= kChunkBytes) return '\0';
    TRY_VOID(fill());
  }
}

Result<std::optional<Line>> LineReader::next() {
  if (!started_) TRY_VOID(start());
  size_t searched = 0;
  while (true) {
    const size_t line_end = unread().find('\n', searched);
    if (line_end != std::string_view::npos && line_end <= max_line_bytes_) {
      const std::string_view line = unread().substr(0, line_end);
      take(line_end + 1);
      return Line{++lines_, without_carriage_return(line), false, line.ends_with('\r')};
    }
    searched = unread().size();
    if (searched > max_line_bytes_) return skip_long_line();
    if (at_end_) break;
    TRY_VOID(fill());
  }
  if (unread().empty()) return std::nullopt;
  const std::string_view line = unread();
  take(line.size());
  return Line{++lines_, without_carriage_return(line), false};
}

Result<std::optional<Line>> LineReader::skip_long_line() {
  while (true) {
    const size_t line_end = unread().find('\n');
    if (line_end != std::string_view::npos) {
      take(line_end + 1);
      break;
    }
    take(unread().size());
    if (at_end_) break;
    TRY_VOID(fill());
  }
  return Line{++lines_, {}, true};
}

}  // namespace inlay
