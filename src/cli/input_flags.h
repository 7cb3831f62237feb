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
  // Opens what the flags name; "-" is standard input.
  Result<TextReader> open(const Interrupt& interrupt) const;

  std::string path = "-";

 private:
  std::string format_ = "auto";
  TextReaderOptions options_;
};

}  // namespace inlay
