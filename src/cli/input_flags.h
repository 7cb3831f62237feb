// The flags of commands that read texts.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/interrupt.h"
#include "base/result.h"
#include "jobs/text_reader.h"

namespace inlay {

class InputFlags {
 public:
  // `flag` names the file: "--input" or "--texts".
  CLI::Option* add(CLI::App& app, const std::string& flag);
  // The flag for rows of token ids, where a command takes them.
  void add_ids(CLI::App& app);
  bool holds_ids() const { return !options_.ids_field.empty(); }
  // How the flags say to read it.
  Result<TextReaderOptions> reader_options() const;
  // Opens what the flags name; "-" is standard input.
  Result<TextReader> open(const Interrupt& interrupt) const;

  std::string path = "-";

 private:
  std::string format_ = "auto";
  TextReaderOptions options_;
};

}  // namespace inlay
