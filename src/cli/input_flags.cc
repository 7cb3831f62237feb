#include "cli/input_flags.h"

#include "cli/flags.h"

namespace inlay {

CLI::Option* InputFlags::add(CLI::App& app, const std::string& flag) {
  add_value(app, "--input-format", format_, "auto (by suffix, else by content), jsonl, csv, tsv, or text (a line is a text)")
      ->capture_default_str();
  add_value(app, "--text-field", options_.text_field, "Field of a JSON line, or column of CSV, that holds the text")
      ->capture_default_str();
  add_value(app, "--id-field", options_.id_field, "Field or column that holds the id, a string or an integer")
      ->capture_default_str();
  return add_value(app, flag, path, "File of texts: JSON lines, CSV or plain text; - is standard input");
}

void InputFlags::add_ids(CLI::App& app) {
  add_value(app, "--ids-field", options_.ids_field,
            "Field of a JSON line that holds token ids to use as given, special tokens included, instead of a text");
}

Result<TextReaderOptions> InputFlags::reader_options() const {
  const std::optional<InputFormat> format = input_format_from_name(format_);
  if (!format) return fail(ErrorCode::kInvalidArgument, "--input-format {}: wanted auto, jsonl, csv, tsv or text", format_);
  TextReaderOptions options = options_;
  options.format = *format;
  return options;
}

Result<TextReader> InputFlags::open(const Interrupt& interrupt) const {
  return TextReader::open(path, TRY(reader_options()), &interrupt);
}

}  // namespace inlay
