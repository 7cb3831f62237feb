// The program `inlay`: a table of commands, each in its own file.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace inlay {
namespace {

struct CommandEntry {
  const char* name;
  const char* summary;
  std::unique_ptr<Command> (*make)();
};

constexpr CommandEntry kCommands[] = {
    {"serve", "Answer over HTTP, in the dialects that clients speak already", make_serve_command},
    {"embed", "Turn texts into vectors: a file or standard input in, a file or standard output out", make_embed_command},
    {"rerank", "Rank texts by how well they answer a query", make_rerank_command},
    {"tokenize", "Print the ids and tokens of texts", make_tokenize_command},
    {"inspect", "Say what a model folder holds", make_inspect_command},
    {"pull", "Download a model from the hub, or say where it lies", make_pull_command},
    {"quantize", "Make a smaller copy of a model folder", make_quantize_command},
    {"bench", "Measure speed on texts, beside what this machine can reach", make_bench_command},
    {"validate", "Prove on your texts that a smaller model is good enough, or say that it is not", make_validate_command},
    {"tune", "Find the settings that serve best within a latency objective", make_tune_command},
};

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 internal error, 2 bad input or usage, 3 not found, 4 unsupported model, 5 unavailable,\n"
    "7 corrupt file, 10 not suited (validate, tune), 130 interrupted, 141 the reader of the output left.\n"
    "Every flag also reads an environment variable: --max-length is INLAY_MAX_LENGTH.";

int report(const Error& error, const Interrupt& interrupt) {
  if (error.code == ErrorCode::kCancelled) return interrupt.requested() ? kExitInterrupted : kExitReaderLeft;
  std::fprintf(stderr, "inlay: %s\n", error.message.c_str());
  return exit_code(error.code);
}

// CLI11 takes an unknown command for a missing one.
bool is_unknown_command(const char* argument) {
  if (argument[0] == '-') return false;
  return std::none_of(std::begin(kCommands), std::end(kCommands),
                      [argument](const CommandEntry& entry) { return std::string_view(entry.name) == argument; });
}

int run(int count, char** arguments) {
  CLI::App app("Inlay turns text into vectors, fast and exactly.", "inlay");
  std::string log_level = "warn";
  app.set_version_flag("--version", std::string("inlay ") + INLAY_VERSION);
  app.add_option("--log-level", log_level, "trace, debug, info, warn, error or off")
      ->capture_default_str()
      ->envname("INLAY_LOG_LEVEL");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kExitCodes);
  std::vector<std::unique_ptr<Command>> commands;
  std::vector<CLI::App*> parsers;
  for (const CommandEntry& entry : kCommands) {
    commands.push_back(entry.make());
    parsers.push_back(app.add_subcommand(entry.name, entry.summary));
    commands.back()->add_flags(*parsers.back());
  }
  if (count > 1 && is_unknown_command(arguments[1])) {
    std::fprintf(stderr, "inlay: '%s' is no command\nRun with --help for more information.\n", arguments[1]);
    return kExitUsage;
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  ignore_broken_pipes();
  const Interrupt interrupt;
  if (const Result<> level = set_log_level(log_level); !level) return report(level.error(), interrupt);
  for (size_t i = 0; i < commands.size(); ++i) {
    if (!parsers[i]->parsed()) continue;
    const Result<> done = commands[i]->run(interrupt);
    return done ? commands[i]->done_code() : report(done.error(), interrupt);
  }
  return kExitUsage;
}

}  // namespace
}  // namespace inlay

int main(int count, char** arguments) {
  inlay::start_log();
  try {
    return inlay::run(count, arguments);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "inlay: internal error: %s\n", exception.what());
    return inlay::exit_code(inlay::ErrorCode::kInternal);
  }
}
