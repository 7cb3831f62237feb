#include "jobs/csv_reader.h"

#include <utility>

namespace inlay {

void CsvReader::end_field() {
  fields_.push_back(std::exchange(field_, {}));
  state_ = State::kStart;
}

void CsvReader::feed(std::string_view text) {
  for (const char c : text) {
    if (state_ == State::kQuoted) {
      if (c == '"') {
        state_ = State::kClosed;
      } else {
        field_ += c;
      }
    } else if (c == separator_) {
      end_field();
    } else if (c == '"' && state_ != State::kPlain) {
      if (state_ == State::kClosed) field_ += c;  // the second of two
      state_ = State::kQuoted;
    } else {
      is_torn_ |= state_ == State::kClosed;
      if (state_ == State::kStart) state_ = State::kPlain;
      field_ += c;
    }
  }
}

std::string CsvReader::place() const { return fmt::format("record {} (line {})", records_, line_); }

Result<std::optional<CsvRecord>> CsvReader::finish() {
  const bool is_open = state_ == State::kQuoted;
  end_field();
  CsvRecord record{records_, line_, std::exchange(fields_, {})};
  if (is_open) {
    record.fields = fail(ErrorCode::kInvalidArgument, "{}: a quote is never closed", place());
  } else if (std::exchange(is_torn_, false)) {
    record.fields = fail(ErrorCode::kInvalidArgument, "{}: characters follow a closing quote", place());
  }
  ++records_;
  return std::optional<CsvRecord>(std::move(record));
}

Result<std::optional<CsvRecord>> CsvReader::next(LineReader& lines) {
  bytes_ = 0;
  while (true) {
    const std::optional<Line> line = TRY(lines.next());
    if (!line) return bytes_ == 0 ? Result<std::optional<CsvRecord>>(std::nullopt) : finish();
    if (bytes_ == 0 && line->text.empty() && !line->too_long) continue;
    if (bytes_ == 0) line_ = line->number;
    bytes_ += line->text.size() + 2;
    if (line->too_long || bytes_ > max_record_bytes_) {
      return fail(ErrorCode::kTooLarge, "{}: more than {} bytes; is a quote never closed?", place(), max_record_bytes_);
    }
    feed(line->text);
    if (state_ != State::kQuoted) return finish();
    field_ += line->has_return ? "\r\n" : "\n";
  }
}

}  // namespace inlay
