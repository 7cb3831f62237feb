// Records of comma-separated values as RFC 4180 has them, over the lines of a LineReader, in bounded memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/line_reader.h"

namespace inlay {

struct CsvRecord {
  uint64_t number = 0;                      // from 0: the header is record 0
  uint64_t line = 0;                        // that it begins at, from 1
  Result<std::vector<std::string>> fields;  // or what is wrong with this record alone
};

// Fields between quotes may hold separators, doubled quotes and line breaks, which are kept as they are in the input. Spaces
// belong to fields. Lines without any character are no records. Used by one thread at a time.
class CsvReader {
 public:
  CsvReader(char separator, size_t max_record_bytes) : separator_(separator), max_record_bytes_(max_record_bytes) {}

  // The next record, nullopt at the end. A record of more bytes than allowed is an error of the whole input, as one is after
  // which no record can be told from another: a quote that is never closed.
  Result<std::optional<CsvRecord>> next(LineReader& lines);

 private:
  enum class State : uint8_t { kStart, kPlain, kQuoted, kClosed };

  void feed(std::string_view text);
  void end_field();
  Result<std::optional<CsvRecord>> finish();
  std::string place() const;

  char separator_;
  size_t max_record_bytes_;
  uint64_t records_ = 0;
  // Of the record that is being read:
  uint64_t line_ = 0;
  size_t bytes_ = 0;
  State state_ = State::kStart;
  bool is_torn_ = false;  // characters follow a closing quote
  std::string field_;
  std::vector<std::string> fields_;
};

}  // namespace inlay
