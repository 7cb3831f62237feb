// Texts and pairs of the user's, as many as a report needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/result.h"
#include "jobs/text_reader.h"

namespace inlay {

// A file of texts, or of pairs of a query and the text that answers it.
struct SampleSource {
  std::string path;      // "-" is standard input
  std::string language;  // of all its rows; empty: as each row says, or else its script
};
// "de=texts.jsonl" is German, "texts.jsonl" tells no language. A name before "=" is letters, digits, "-" and "_".
SampleSource parse_sample_source(const std::string& argument);

struct SampleOptions {
  std::vector<SampleSource> sources;
  TextReaderOptions reader;  // its more_fields are set by read_sample
  std::string query_field = "query";
  std::string language_field = "language";
  size_t rows = 1000;  // at most, of all files together; each file gives the same share
  uint64_t seed = 1;
};

struct SampledRow {
  std::string text;   // cut at 64 KiB: more than any model reads
  std::string query;  // of pairs
  std::string language;
  std::string id;     // JSON text; may be empty
  size_t source = 0;  // which file
  uint64_t line = 0;
};

struct Sample {
  std::vector<SampledRow> rows;
  std::vector<SampleSource> sources;
  uint64_t rows_read = 0;
  uint64_t unusable = 0;  // rows without a text, or without a query where pairs are wanted
};

enum class SampleKind : uint8_t { kTexts, kPairs };

// Reads the files to their ends, with memory for twice the wanted rows. Rows without a usable text are counted and passed over;
// a file that has no other rows is kInvalidArgument.
Result<Sample> read_sample(const SampleOptions& options, SampleKind kind, const Interrupt* interrupt);

// The beginning of a text, at most `bytes` long and cut between characters.
std::string_view cut_text(std::string_view text, size_t bytes);

}  // namespace inlay
