// A sub-command of the program: flags in, a job of src/jobs called, results on standard output.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>

#include "base/interrupt.h"
#include "base/result.h"

namespace inlay {

class Command {
 public:
  virtual ~Command() = default;
  // Flags write into members, so a Command stays where it is until run() returns.
  virtual void add_flags(CLI::App& app) = 0;
  // Runs after the flags were read. Results go to standard output, everything else to standard error.
  virtual Result<> run(const Interrupt& interrupt) = 0;
  // What the program ends with when run() succeeded: other than 0 where the result itself is a refusal.
  virtual int done_code() const { return 0; }
};

std::unique_ptr<Command> make_embed_command();
std::unique_ptr<Command> make_rerank_command();
std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_tokenize_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_bench_command();
std::unique_ptr<Command> make_pull_command();
std::unique_ptr<Command> make_validate_command();
std::unique_ptr<Command> make_tune_command();
std::unique_ptr<Command> make_quantize_command();

}  // namespace inlay
