// Rows of texts from JSON lines, comma-separated values or plain text, streamed from a file or standard input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_stream.h"
#include "base/result.h"
#include "jobs/csv_reader.h"
#include "jobs/line_reader.h"

namespace inlay {

enum class InputFormat : uint8_t { kAuto, kJsonl, kText, kCsv, kTsv };

struct TextReaderOptions {
  // kAuto: .jsonl, .ndjson and .json are JSON lines, .csv and .tsv what they say, .txt is plain text; for standard input and
  // other names, a first symbol `{` means JSON lines. Suffixes of formats that are not read (.parquet, ...) are refused.
  InputFormat format = InputFormat::kAuto;
  std::string text_field = "text";
  std::string id_field = "id";
  std::string ids_field = {};                 // if set, rows hold token ids in this field instead of a text; JSON lines only
  std::vector<std::string> more_fields = {};  // further fields to read as strings
  size_t max_line_bytes = size_t{64} << 20;  // A longer line is that row's error and is never held in memory. Of CSV: a record,
                                             // and then nothing can follow.
};

// One row of the input. A row that is no usable text is still a row, so that results never shift.
struct TextRow {
  uint64_t line = 0;         // from 1, blank lines included; of CSV the record, the header being none
  std::string id;            // JSON text: "a string" with quotes and escapes, or an integer; empty if the row has none
  Result<std::string> text;  // or why there is none: "line 7: text is blank"; empty if the row has ids
  std::optional<std::vector<int64_t>> ids = {};  // token ids, where the reader was told to read them
  std::vector<std::string> more = {};            // values of more_fields; empty where the row has no such string

  size_t bytes() const { return (text ? text->size() : 0) + (ids ? ids->size() * sizeof(int64_t) : 0); }
};

// JSON lines: an object a line, with the text as a string; blank lines are no rows. Plain text: every line is a row, so that
// row n is line n; a blank one is a row without a text. CSV and TSV: records below a header that names their fields. Used by
// one thread at a time, but for cancel().
class TextReader {
 public:
  // `path` may be "-" for standard input. Only opens: the first byte is read by next().
  static Result<TextReader> open(const std::string& path, TextReaderOptions options, const Interrupt* interrupt = nullptr);
  // For tests and for texts in memory. `name` is for messages, and its suffix for kAuto.
  TextReader(ByteSource source, std::string name, TextReaderOptions options);

  // nullopt at the end. An error here is the input's, not a row's: nothing can follow.
  Result<std::optional<TextRow>> next();

  // From any thread: makes a next() that waits for input return kCancelled.
  void cancel() {
    if (stream_) stream_->cancel();
  }

  const std::string& name() const { return name_; }
  uint64_t bytes_read() const { return lines_.bytes_read(); }
  std::optional<uint64_t> total_bytes() const { return stream_ ? stream_->size() : std::nullopt; }

 private:
  Result<> choose_format();
  Result<std::optional<TextRow>> next_record();
  Result<> read_header();
  TextRow read_record(const CsvRecord& record) const;
  TextRow read_json(const Line& line) const;

  std::unique_ptr<InputStream> stream_;  // what lines_ reads from, if it is a file
  std::string name_;
  TextReaderOptions options_;
  LineReader lines_;
  // Of CSV, once the header is read: its columns, and which of them hold what.
  std::optional<CsvReader> csv_;
  std::vector<std::string> columns_;
  size_t text_column_ = 0;
};

// "auto", "jsonl", "text", "csv", "tsv".
std::optional<InputFormat> input_format_from_name(std::string_view name);
// What kAuto makes of a name: kAuto if only the content can tell; kInvalidArgument for a format that is not read.
Result<InputFormat> input_format_of(const std::string& name);
// Whether the text is empty or white space (as Unicode defines it) only.
bool is_blank(std::string_view text);

}  // namespace inlay
