// inlay embed: bulk embedding of a file or of standard input.
#include <cstdio>
#include <utility>

#include "base/json_writer.h"
#include "base/process.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/input_flags.h"
#include "cli/model_flags.h"
#include "cli/output_flags.h"
#include "cli/progress_bar.h"
#include "jobs/embed_job.h"
#include "jobs/output_job.h"

namespace inlay {
namespace {

constexpr const char* kEmbedFooter =
    "Rows never shift: a row of output for every row of input. --on-error fail (the default) ends with exit code 2 and the "
    "line of\n"
    "the first row that has no usable text (invalid JSON, no text, blank, too long with --truncate-side none); an output file "
    "is\n"
    "then left as it was. --on-error skip goes on: JSON lines get {\"id\":…,\"error\":\"…\"}, .npy gets a row of zeros and a "
    "list in\n"
    "OUTPUT.errors.jsonl. In JSON lines, blank lines are no rows; in plain text every line is a row.\n"
    "Example:\n"
    "  inlay embed --model all-MiniLM-L6-v2 --input docs.jsonl --output docs.npy\n"
    "  printf 'one text\\nanother\\n' | inlay embed --model all-MiniLM-L6-v2";

constexpr uint64_t kSkippedShown = 10;

std::string summary(const EmbedReport& report, const Engine& engine) {
  JsonWriter json;
  json.begin_object().key("texts").value(report.rows.texts).key("tokens").value(report.rows.tokens);
  json.key("seconds").value(report.seconds).key("truncated").value(report.rows.truncated);
  json.key("failed").value(report.rows.failed).key("dimensions").value(engine.dimensions());
  json.key("peak_rss_bytes").value(peak_resident_bytes()).key("weight_bytes").value(engine.weight_bytes());
  json.key("dtype").value(precision_name(engine.precision())).key("threads").value(engine.threads()).end_object();
  return json.text() + "\n";
}

class EmbedCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    model_.add_all(app);
    model_.add_choice_flags(app);
    input_.add(app, "--input")->capture_default_str();
    input_.add_ids(app);
    add_value(app, "--output", output_, "File for the vectors; - is standard output")->capture_default_str();
    add_value(app, "--output-format", output_format_, "auto (by suffix; jsonl for standard output), npy or jsonl")
        ->capture_default_str();
    add_value(app, "--output-kind", output_kind_,
              "What to make of a text: vector, or, where the model gives it, scores, sparse or tokens; all but vector as jsonl")
        ->capture_default_str();
    stored_.add(app);
    add_value(app, "--on-error", on_error_, "What a row without a usable text does: fail or skip")->capture_default_str();
    add_switch(app, "--json", json_, "End with one line of figures as JSON, on standard output unless the vectors are there");
    add_switch(app, "--quiet", quiet_, "No progress");
    app.footer(kEmbedFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    if (on_error_ != "fail" && on_error_ != "skip") {
      return fail(ErrorCode::kInvalidArgument, "--on-error {}: wanted fail or skip", on_error_);
    }
    const std::optional<OutputFormat> named = output_format_from_name(output_format_);
    if (!named) return fail(ErrorCode::kInvalidArgument, "--output-format {}: wanted auto, npy or jsonl", output_format_);
    const OutputFormat format = TRY(choose_output_format(output_, *named));
    TRY_VOID(stored_.check(input_));
    const std::optional<OutputKind> kind = output_from_name(output_kind_);
    if (!kind)
      return fail(ErrorCode::kInvalidArgument, "--output-kind {}: wanted vector, scores, sparse or tokens", output_kind_);
    EngineOptions options = TRY(model_.chosen_options(interrupt));
    options.ids_only = input_.holds_ids();
    if (*kind != OutputKind::kVector) return run_other(*kind, options, format, interrupt);
    TextReader reader = TRY(input_.open(interrupt));
    const Engine engine = TRY(Engine::load(options));
    TRY_VOID(engine.require(OutputKind::kVector));
    StoredAs stored = TRY(stored_.stored_as(engine, input_, interrupt));
    const std::unique_ptr<VectorWriter> writer = TRY(open_writer(output_, format, engine.dimensions(), std::move(stored)));
    const EmbedReport report = TRY(embed(engine, reader, *writer, interrupt));
    tell(report, engine);
    return {};
  }

 private:
  Result<EmbedReport> embed(const Engine& engine, TextReader& reader, VectorWriter& writer, const Interrupt& interrupt) const {
    ProgressBar bar(quiet_);
    uint64_t skipped = 0;
    JobHooks hooks;
    hooks.progress = [&bar](const JobProgress& progress) { bar.update(progress); };
    hooks.stopped = [&interrupt] { return interrupt.requested(); };
    hooks.skipped = [&bar, &skipped](const std::string& why) {
      if (++skipped <= kSkippedShown) bar.print_line("skipped " + why);
      if (skipped == kSkippedShown + 1) bar.print_line("skipped more; the output lists them all");
    };
    const OnError on_error = on_error_ == "skip" ? OnError::kSkip : OnError::kFail;
    return run_embed_job(engine, reader, writer, on_error, hooks);
  }

  // Outputs that are no vector have their own shape a row, so that only JSON lines hold them.
  Result<> run_other(OutputKind kind, const EngineOptions& options, OutputFormat format, const Interrupt& interrupt) const {
    if (format != OutputFormat::kJsonl) {
      return fail(ErrorCode::kInvalidArgument, "--output-kind {}: only jsonl holds it; see --output-format", output_kind_);
    }
    if (options.ids_only)
      return fail(ErrorCode::kInvalidArgument, "--output-kind {}: --ids-field is for vectors", output_kind_);
    TextReader reader = TRY(input_.open(interrupt));
    const Engine engine = TRY(Engine::load(options));
    OutputFile out = TRY(OutputFile::create(output_));
    const NextRow next = [&]() -> Result<std::optional<TextRow>> {
      if (interrupt.requested()) return fail(ErrorCode::kCancelled, "interrupted");
      return reader.next();
    };
    const auto skipped = [](const std::string& why) { std::fputs(fmt::format("skipped {}\n", why).c_str(), stderr); };
    const OutputReport report =
        TRY(run_output_job(engine, {.kind = kind, .skips_bad_rows = on_error_ == "skip"}, next, out, skipped));
    TRY_VOID(out.commit());
    JsonWriter json;
    json.begin_object().key("texts").value(report.texts).key("tokens").value(report.tokens);
    json.key("truncated").value(report.truncated).key("failed").value(report.failed).end_object();
    if (json_) std::fputs((json.text() + "\n").c_str(), output_ == "-" ? stderr : stdout);
    return {};
  }

  void tell(const EmbedReport& report, const Engine& engine) const {
    if (json_) std::fputs(summary(report, engine).c_str(), output_ == "-" ? stderr : stdout);
    if (json_ || quiet_) return;
    const BulkReport& rows = report.rows;
    std::fputs(
        fmt::format("{} texts, {} tokens in {:.2f} s ({:.1f} texts/s), {} truncated, {} failed\n", rows.texts, rows.tokens,
                    report.seconds, report.seconds > 0 ? static_cast<double>(rows.texts) / report.seconds : 0, rows.truncated,
                    rows.failed)
            .c_str(),
        stderr);
  }

  ModelFlags model_;
  InputFlags input_;
  OutputFlags stored_;
  std::string output_ = "-";
  std::string output_format_ = "auto";
  std::string output_kind_ = "vector";
  std::string on_error_ = "fail";
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_embed_command() { return std::make_unique<EmbedCommand>(); }

}  // namespace inlay
