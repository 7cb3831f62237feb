// inlay tune: finds the settings that serve best within a latency objective.
#include <string>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/sample_flags.h"
#include "jobs/tune/tune_job.h"

namespace inlay {
namespace {

constexpr const char* kTuneFooter =
    "Measures bare batches of doubling sizes, then a server on a free port of this machine: requests of one text each from "
    "more\n"
    "and more clients, and at random arrivals. Give it texts like those that will be sent, and an otherwise idle machine. "
    "Exit\n"
    "code 10 says that nothing keeps the objective. What the config file says: docs/guide/tuning.md.\n"
    "Example:\n"
    "  inlay tune --model all-MiniLM-L6-v2 --slo-p99-ms 20 --texts queries.txt --config tuned.toml --report tuned.html\n"
    "  inlay serve --model all-MiniLM-L6-v2 --config tuned.toml";

class TuneCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    model_.add_all(app);
    samples_.add_texts(app);
    add_value(app, "--slo-p99-ms", slo_p99_ms_, "Milliseconds that 99 of 100 requests may take at most")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    add_value(app, "--seconds", seconds_, "How long to measure, about")->capture_default_str()->check(CLI::Range(1.0, 86400.0));
    add_value(app, "--config", config_, "File for the choice, which serve --config reads");
    add_value(app, "--report", page_, "HTML file for the report, with plots");
    add_switch(app, "--json", json_, "One line of JSON instead of tables");
    add_switch(app, "--quiet", quiet_, "No progress");
    app.footer(kTuneFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    TuneOptions options;
    options.engine = TRY(model_.options());
    options.slo_p99 = slo_p99_ms_ / 1000;
    options.seconds = seconds_;
    options.seed = samples_.seed();
    if (options.engine.max_batch_tokens) options.most_batch_tokens = *options.engine.max_batch_tokens;
    const Sample sample = TRY(samples_.read_texts(interrupt));
    for (const SampledRow& row : sample.rows) options.texts.push_back(row.text);
    const TuneReport report = TRY(tune(options, interrupt));
    keeps_objective_ = report.choice.keeps_objective;
    if (!config_.empty()) TRY_VOID(write_file(config_, tune_config(report)));
    if (!page_.empty()) TRY_VOID(write_file(page_, tune_html(report)));
    return write_file("-", json_ ? tune_json(report) : tune_table(report));
  }

  int done_code() const override { return keeps_objective_ ? kExitDone : kExitNotSuited; }

 private:
  Result<TuneReport> tune(const TuneOptions& options, const Interrupt& interrupt) const {
    ProgressBar bar(quiet_);
    JobHooks hooks;
    hooks.stopped = [&interrupt] { return interrupt.requested(); };
    hooks.progress = [&bar](const JobProgress& progress) { bar.update(progress); };
    return run_tune(options, hooks);
  }

  ModelFlags model_;
  SampleFlags samples_;
  std::string config_;
  std::string page_;
  double slo_p99_ms_ = 50;
  double seconds_ = 150;
  bool json_ = false;
  bool quiet_ = false;
  bool keeps_objective_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() { return std::make_unique<TuneCommand>(); }

}  // namespace inlay
