#include "cli/sample_flags.h"

#include "cli/flags.h"

namespace inlay {

void SampleFlags::add_texts(CLI::App& app) {
  add_value(app, "--texts", text_files_,
            "Files of texts that embed reads, [LANGUAGE=]FILE; may be given more than once; - is standard input")
      ->allow_extra_args(false);
  add_value(app, "--max-texts", max_texts_, "Texts to take, spread evenly over the files")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1000000}));
  add_value(app, "--seed", seed_, "Of the choice of texts")->capture_default_str();
  add_value(app, "--input-format", format_, "auto (by suffix, else by content), jsonl, or text (a line is a text)")
      ->capture_default_str();
  add_value(app, "--text-field", options_.reader.text_field, "Field of a JSON line that holds the text")->capture_default_str();
}

void SampleFlags::add(CLI::App& app) {
  add_texts(app);
  add_value(app, "--pairs", pair_files_, "Files of JSON lines with a query and the text that answers it, [LANGUAGE=]FILE")
      ->allow_extra_args(false);
  add_value(app, "--max-pairs", max_pairs_, "Pairs to rank, spread evenly over the files")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{100000}));
  add_value(app, "--query-field", options_.query_field, "Field of a pair that holds the query")->capture_default_str();
  add_value(app, "--language-field", options_.language_field, "Field that holds the language; else the script is looked at")
      ->capture_default_str();
}

Result<Sample> SampleFlags::read(const std::vector<std::string>& files, size_t rows, SampleKind kind,
                                 const Interrupt& interrupt) const {
  if (files.empty()) return Sample{};
  SampleOptions options = options_;
  const std::optional<InputFormat> format = input_format_from_name(format_);
  if (!format) return fail(ErrorCode::kInvalidArgument, "--input-format {}: wanted auto, jsonl or text", format_);
  options.reader.format = *format;
  options.rows = rows;
  options.seed = seed_;
  for (const std::string& file : files) options.sources.push_back(parse_sample_source(file));
  return read_sample(options, kind, &interrupt);
}

Result<Sample> SampleFlags::read_texts(const Interrupt& interrupt) const {
  return read(text_files_, max_texts_, SampleKind::kTexts, interrupt);
}

Result<Sample> SampleFlags::read_pairs(const Interrupt& interrupt) const {
  return read(pair_files_, max_pairs_, SampleKind::kPairs, interrupt);
}

}  // namespace inlay
