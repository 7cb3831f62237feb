#include "jobs/text_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"

namespace inlay {
namespace {

// Characters of the property White_Space beyond ASCII, as UTF-8.
constexpr std::array<std::string_view, 19> kWideSpaces = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                                          "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                                          "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

constexpr std::array<std::string_view, 7> kRefusedSuffixes = {".gz", ".zst", ".bz2", ".xz", ".zip", ".arrow", ".xlsx"};

size_t wide_space_length(std::string_view text) {
  for (const std::string_view space : kWideSpaces) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

// The id as JSON text. Integers keep their type, so that a join on the other side finds them.
Result<std::string> read_id(const Json& row, const std::string& field) {
  const std::optional<Json> id = row.find(field);
  if (!id) return std::string();
  std::string text;
  if (id->is_string()) {
    append_json_string(text, TRY(id->as_string()));
    return text;
  }
  int64_t number = 0;
  uint64_t large = 0;
  if (id->element().get_int64().get(number) == simdjson::SUCCESS) return std::to_string(number);
  if (id->element().get_uint64().get(large) == simdjson::SUCCESS) return std::to_string(large);
  return fail(ErrorCode::kInvalidArgument, "{}: wanted a string or an integer", id->where());
}

Result<std::string> read_text(const Json& row, const std::string& field) {
  const Json value = TRY(row.get(field));
  return std::string(TRY(value.as_string()));
}

std::string read_more(const Json& row, const std::string& field) {
  const std::optional<Json> value = row.find(field);
  return value && value->is_string() ? std::string(*value->as_string()) : std::string();
}

// Whether an id is one of the model's is the engine's to say.
Result<std::vector<int64_t>> read_token_ids(const Json& row, const std::string& field) {
  const Json value = TRY(row.get(field));
  std::vector<int64_t> ids;
  for (const simdjson::dom::element element : TRY(value.raw_array())) {
    int64_t id = 0;
    if (element.get_int64().get(id) != simdjson::SUCCESS) {
      return fail(ErrorCode::kInvalidArgument, "{}[{}]: wanted an integer", value.where(), ids.size());
    }
    ids.push_back(id);
  }
  return ids;
}

Result<std::string> unless_blank(Result<std::string> text, uint64_t line) {
  if (text && is_blank(*text)) return fail(ErrorCode::kInvalidArgument, "line {}: the text is blank", line);
  return text;
}

}  // namespace

std::optional<InputFormat> input_format_from_name(std::string_view name) {
  if (name == "auto") return InputFormat::kAuto;
  if (name == "jsonl") return InputFormat::kJsonl;
  if (name == "text") return InputFormat::kText;
  if (name == "csv") return InputFormat::kCsv;
  if (name == "tsv") return InputFormat::kTsv;
  return std::nullopt;
}

Result<InputFormat> input_format_of(const std::string& name) {
  const std::string suffix = std::filesystem::path(name).extension().string();
  if (suffix == ".jsonl" || suffix == ".ndjson" || suffix == ".json") return InputFormat::kJsonl;
  if (suffix == ".txt") return InputFormat::kText;
  if (suffix == ".csv") return InputFormat::kCsv;
  if (suffix == ".tsv") return InputFormat::kTsv;
  if (suffix == ".parquet") {
    return fail(ErrorCode::kInvalidArgument,
                "{}: Parquet isn't read; convert it to JSON lines, as with pandas: "
                "read_parquet(...).to_json(..., orient='records', lines=True)",
                name);
  }
  if (std::find(kRefusedSuffixes.begin(), kRefusedSuffixes.end(), suffix) == kRefusedSuffixes.end()) return InputFormat::kAuto;
  return fail(ErrorCode::kInvalidArgument,
              "{}: {} files are not read; give JSON lines, CSV or plain text, or say --input-format to read it as such", name,
              suffix);
}

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    const char symbol = text[0];
    const bool is_ascii_space = symbol == ' ' || (symbol >= '\t' && symbol <= '\r');
    const size_t length = is_ascii_space ? 1 : wide_space_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Result<TextReader> TextReader::open(const std::string& path, TextReaderOptions options, const Interrupt* interrupt) {
  if (options.format == InputFormat::kAuto) options.format = TRY(input_format_of(path));
  std::unique_ptr<InputStream> stream = std::make_unique<InputStream>(TRY(InputStream::open(path, interrupt)));
  TextReader reader([source = stream.get()](std::span<char> out) { return source->read(out); }, stream->name(),
                    std::move(options));
  reader.stream_ = std::move(stream);
  return reader;
}

TextReader::TextReader(ByteSource source, std::string name, TextReaderOptions options)
    : name_(std::move(name)), options_(std::move(options)), lines_(std::move(source), options_.max_line_bytes) {}

Result<> TextReader::choose_format() {
  if (options_.format == InputFormat::kAuto) options_.format = TRY(input_format_of(name_));
  if (options_.format != InputFormat::kAuto) return {};
  options_.format = TRY(lines_.first_symbol()) == '{' ? InputFormat::kJsonl : InputFormat::kText;
  return {};
}

// Messages of base/json call a wrong type corrupt, as loaders want it; here it is the caller's input that is wrong.
TextRow TextReader::read_json(const Line& line) const {
  TextRow row{line.number, {}, std::string()};
  const Result<JsonDocument> document = JsonDocument::parse(line.text, fmt::format("line {}", line.number));
  const auto refuse = [&row](const Error& error) {
    row.text = tl::unexpected<Error>(Error{ErrorCode::kInvalidArgument, error.message});
    return row;
  };
  if (!document) return refuse(document.error());
  if (!document->root().is_object()) return refuse({{}, fmt::format("line {}: wanted a JSON object", line.number)});
  const Result<std::string> id = read_id(document->root(), options_.id_field);
  if (!id) return refuse(id.error());
  row.id = *id;
  for (const std::string& field : options_.more_fields) row.more.push_back(read_more(document->root(), field));
  if (!options_.ids_field.empty()) {
    Result<std::vector<int64_t>> ids = read_token_ids(document->root(), options_.ids_field);
    if (!ids) return refuse(ids.error());
    row.ids = *std::move(ids);
    return row;
  }
  Result<std::string> text = read_text(document->root(), options_.text_field);
  if (!text) return refuse(text.error());
  row.text = unless_blank(std::move(text), line.number);
  return row;
}

Result<> TextReader::read_header() {
  csv_.emplace(options_.format == InputFormat::kTsv ? '\t' : ',', options_.max_line_bytes);
  const std::optional<CsvRecord> header = TRY(csv_->next(lines_));
  if (!header) return {};
  columns_ = TRY(header->fields);
  text_column_ = static_cast<size_t>(std::find(columns_.begin(), columns_.end(), options_.text_field) - columns_.begin());
  if (text_column_ < columns_.size()) return {};
  return fail(ErrorCode::kInvalidArgument, "the header has no column '{}'; it has: {}", options_.text_field,
              fmt::format("{}", fmt::join(columns_, ", ")).substr(0, 500));
}

TextRow TextReader::read_record(const CsvRecord& record) const {
  TextRow row{record.number, {}, std::string()};
  if (!record.fields) {
    row.text = tl::unexpected<Error>(record.fields.error());
    return row;
  }
  const std::vector<std::string>& fields = *record.fields;
  if (fields.size() != columns_.size()) {
    row.text = fail(ErrorCode::kInvalidArgument, "record {} (line {}): found {} fields, the header has {}", record.number,
                    record.line, fields.size(), columns_.size());
    return row;
  }
  const auto find = [&](const std::string& name) {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    return found == columns_.end() ? std::string() : fields[static_cast<size_t>(found - columns_.begin())];
  };
  if (const std::string id = find(options_.id_field); !id.empty()) append_json_string(row.id, id);
  for (const std::string& field : options_.more_fields) row.more.push_back(find(field));
  row.text = fields[text_column_];
  if (is_blank(*row.text)) {
    row.text = fail(ErrorCode::kInvalidArgument, "record {} (line {}): the text is blank", record.number, record.line);
  }
  return row;
}

Result<std::optional<TextRow>> TextReader::next_record() {
  if (!csv_) TRY_VOID(read_header().map_error(within(name_)));
  const std::optional<CsvRecord> record = TRY(csv_->next(lines_).map_error(within(name_)));
  return record ? std::optional<TextRow>(read_record(*record)) : std::nullopt;
}

Result<std::optional<TextRow>> TextReader::next() {
  if (Result<> chosen = choose_format(); !chosen)
    return chosen.map_error(within(name_)).map([] { return std::optional<TextRow>(); });
  if (!options_.ids_field.empty() && options_.format != InputFormat::kJsonl) {
    return fail(ErrorCode::kInvalidArgument, "{}: token ids are read from JSON lines, this is {}", name_,
                options_.format == InputFormat::kText ? "plain text" : "CSV");
  }
  if (options_.format == InputFormat::kCsv || options_.format == InputFormat::kTsv) return next_record();
  while (true) {
    const Result<std::optional<Line>> read = lines_.next();
    if (!read) return tl::unexpected<Error>(within(name_)(read.error()));
    if (!*read) return std::nullopt;
    const Line& line = **read;
    if (line.too_long) {
      return TextRow{
          line.number, {}, fail(ErrorCode::kTooLarge, "line {}: more than {} bytes", line.number, options_.max_line_bytes)};
    }
    const bool is_json = options_.format == InputFormat::kJsonl;
    if (is_json && is_blank(line.text)) continue;
    if (is_json) return read_json(line);
    return TextRow{line.number, {}, unless_blank(std::string(line.text), line.number)};
  }
}

}  // namespace inlay
