#include "jobs/validate/sample.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "jobs/validate/even_sample.h"
#include "jobs/validate/script.h"

namespace inlay {
namespace {

constexpr size_t kMostTextBytes = size_t{64} << 10;

bool is_name_symbol(char symbol) {
  return (symbol >= 'a' && symbol <= 'z') || (symbol >= 'A' && symbol <= 'Z') || (symbol >= '0' && symbol <= '9') ||
         symbol == '-' || symbol == '_';
}

// Where the reader puts the further fields.
constexpr size_t kLanguage = 0;
constexpr size_t kQuery = 1;

std::string more(const TextRow& row, size_t field) { return field < row.more.size() ? row.more[field] : std::string(); }

// A row that is known to have a text.
SampledRow sampled(const TextRow& row, const SampleSource& source) {
  SampledRow result;
  result.text = cut_text(*row.text, kMostTextBytes);
  result.query = cut_text(more(row, kQuery), kMostTextBytes);
  result.language = source.language.empty() ? more(row, kLanguage) : source.language;
  if (result.language.empty()) result.language = script_of(result.text);
  result.id = row.id;
  result.line = row.line;
  return result;
}

struct FileRequest {
  size_t source = 0;
  size_t rows = 0;
  SampleKind kind = SampleKind::kTexts;
};

Result<> read_file_sample(const SampleOptions& options, const FileRequest& request, const Interrupt* interrupt,
                          Sample& sample) {
  const SampleSource& source = options.sources[request.source];
  TextReaderOptions reading = options.reader;
  reading.more_fields = {options.language_field};
  if (request.kind == SampleKind::kPairs) reading.more_fields.push_back(options.query_field);
  TextReader reader = TRY(TextReader::open(source.path, reading, interrupt));
  EvenSample<SampledRow> even(request.rows, options.seed);
  uint64_t usable = 0;
  while (std::optional<TextRow> row = TRY(reader.next())) {
    ++sample.rows_read;
    const bool is_usable = row->text && (request.kind == SampleKind::kTexts || !is_blank(more(*row, kQuery)));
    sample.unusable += is_usable ? 0 : 1;
    usable += is_usable ? 1 : 0;
    if (is_usable) even.add(sampled(*row, source));
  }
  if (usable == 0) {
    const std::string wanted = request.kind == SampleKind::kTexts
                                   ? fmt::format("a text in '{}'", reading.text_field)
                                   : fmt::format("a query in '{}' and a text in '{}'", options.query_field, reading.text_field);
    return fail(ErrorCode::kInvalidArgument, "{}: no row has {}", reader.name(), wanted);
  }
  for (SampledRow& row : even.take()) {
    row.source = request.source;
    sample.rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace

SampleSource parse_sample_source(const std::string& argument) {
  const size_t sign = argument.find('=');
  const std::string name = argument.substr(0, sign);
  std::error_code ignored;
  const bool names_language = sign != std::string::npos && sign > 0 && std::all_of(name.begin(), name.end(), is_name_symbol);
  if (!names_language || std::filesystem::exists(argument, ignored)) return {argument, {}};
  return {argument.substr(sign + 1), name};
}

std::string_view cut_text(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  const auto is_inside = [&text](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  while (bytes > 0 && is_inside(bytes)) --bytes;
  return text.substr(0, bytes);
}

Result<Sample> read_sample(const SampleOptions& options, SampleKind kind, const Interrupt* interrupt) {
  Sample sample;
  sample.sources = options.sources;
  const size_t files = options.sources.size();
  if (options.rows < files)
    return fail(ErrorCode::kInvalidArgument, "{} rows of {} files: wanted one of each", options.rows, files);
  for (size_t i = 0; i < files; ++i) {
    const size_t share = options.rows * (i + 1) / files - options.rows * i / files;
    TRY_VOID(read_file_sample(options, {i, share, kind}, interrupt, sample));
  }
  return sample;
}

}  // namespace inlay
