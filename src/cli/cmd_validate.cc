// inlay validate: what a smaller model loses on the user's texts, and whether that is too much.
#include <spdlog/spdlog.h>

#include <string>
#include <vector>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "cli/sample_flags.h"
#include "engine/validation_report.h"
#include "jobs/validate/validate_job.h"

namespace inlay {
namespace {

constexpr const char* kValidateFooter =
    "Both may be one folder with two dtypes. The rule: the P99 of the cosine distances is at most --max-p99, and Recall@5 of "
    "the "
    "pairs\n"
    "loses at most --max-recall-loss, over all and in every language with enough texts. Exit code 10 says that it does not "
    "hold.\n"
    "The report is kept in CANDIDATE/inlay-validation.json, where serve and inspect find it.\n"
    "Examples:\n"
    "  inlay validate all-MiniLM-L6-v2 all-MiniLM-L6-v2 --dtype int8 --texts docs.jsonl --report int8.html\n"
    "  inlay validate e5-small e5-small-int4 --pairs de=german.jsonl --pairs ja=japanese.jsonl --fallback";

class ValidateCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    add_value(app, "reference,--reference", reference_, "Folder of the model that is trusted");
    add_value(app, "candidate,--candidate", candidate_, "Folder of the model that is judged; the reference unless given");
    samples_.add(app);
    add_value(app, "--reference-dtype", reference_dtype_, "What the reference computes in")->capture_default_str();
    model_.add_compute_flags(app);
    model_.add_reading_flags(app);
    model_.add_vector_flags(app);
    query_prompt_given_ =
        add_value(app, "--query-prompt", query_prompt_, "Text to put before the queries of pairs; the model's unless given");
    passage_prompt_given_ =
        add_value(app, "--passage-prompt", passage_prompt_, "Text to put before the texts of pairs; the model's unless given");
    add_rule_flags(app);
    add_output_flags(app);
    app.footer(kValidateFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    const ValidateOptions options = TRY(validate_options());
    if (!samples_.has_texts() && !samples_.has_pairs()) {
      return fail(ErrorCode::kInvalidArgument, "--texts or --pairs is missing: files of the texts to compare");
    }
    const Sample texts = TRY(samples_.read_texts(interrupt));
    const Sample pairs = TRY(samples_.read_pairs(interrupt));
    ValidationReport report = TRY(validate(options, texts, pairs, interrupt));
    report.seed = samples_.seed();
    passed_ = report.verdict.passed;
    report.others = other_reports(options.candidate.model, report.candidate.dtype);
    if (!no_store_) store(options, report);
    if (!page_.empty()) TRY_VOID(write_file(page_, validation_html(report)));
    return write_file("-", json_ ? validation_json(report) : validation_table(report));
  }

  int done_code() const override { return passed_ ? kExitDone : kExitNotSuited; }

 private:
  void add_rule_flags(CLI::App& app) {
    add_value(app, "--max-p99", rule_.max_p99, "Most that the P99 of the cosine distances may be")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 2.0));
    add_value(app, "--max-recall-loss", rule_.max_recall_loss,
              "Most of Recall@5 that may be lost, as a share of the reference's")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0));
    add_value(app, "--output-type", output_types_,
              "Also rank the pairs by vectors stored as fp16, int8, uint8, binary or ubinary; may be given more than once")
        ->allow_extra_args(false);
    add_switch(app, "--fallback", fallback_, "Where the candidate fails, try bfloat16 and float16 of the reference");
  }

  void add_output_flags(CLI::App& app) {
    add_value(app, "--worst", worst_, "Texts to list that are farthest off")->capture_default_str()->check(CLI::Range(0, 1000));
    add_value(app, "--report", page_, "HTML file for the report, with plots");
    add_switch(app, "--no-store", no_store_, "Do not keep the report beside the candidate's weights");
    add_switch(app, "--json", json_, "One line of JSON instead of tables");
    add_switch(app, "--quiet", quiet_, "No progress");
  }

  Result<ValidateOptions> validate_options() {
    if (reference_.empty()) return fail(ErrorCode::kInvalidArgument, "the folder of the reference model is missing");
    if (candidate_.empty()) candidate_ = reference_;
    ValidateOptions options;
    model_.set_model(candidate_);
    options.candidate = TRY(model_.options());
    model_.set_model(reference_);
    options.reference = TRY(model_.options());
    const std::optional<Precision> dtype = precision_from_name(reference_dtype_);
    if (!dtype) return fail(ErrorCode::kInvalidArgument, "--reference-dtype {} is no dtype: see --dtype", reference_dtype_);
    options.reference.dtype = *dtype;
    if (query_prompt_given_->count() > 0) options.query_prompt = query_prompt_;
    if (passage_prompt_given_->count() > 0) options.passage_prompt = passage_prompt_;
    for (const std::string& type : output_types_) options.outputs.push_back(TRY(parse_output_type(type)));
    options.rule = rule_;
    options.worst = static_cast<size_t>(worst_);
    options.try_fallbacks = fallback_;
    return options;
  }

  Result<ValidationReport> validate(const ValidateOptions& options, const Sample& texts, const Sample& pairs,
                                    const Interrupt& interrupt) const {
    ProgressBar bar(quiet_);
    JobHooks hooks;
    hooks.stopped = [&interrupt] { return interrupt.requested(); };
    hooks.progress = [&bar](const JobProgress& progress) { bar.update(progress); };
    return run_validation(options, texts, pairs, hooks);
  }

  static std::vector<CostPoint> other_reports(const std::filesystem::path& folder, const std::string& dtype) {
    std::vector<CostPoint> points;
    for (const ValidationSummary& summary : read_validations(folder).value_or(std::vector<ValidationSummary>())) {
      const bool is_other = summary.dtype != dtype && !summary.is_stale;
      if (is_other) points.push_back({summary.dtype, summary.texts_per_second, summary.p99});
    }
    return points;
  }

  // A folder that cannot be written costs the record only, not the report.
  static void store(const ValidateOptions& options, const ValidationReport& report) {
    const std::optional<Precision> dtype = precision_from_name(report.candidate.dtype);
    const Result<> stored =
        store_validation(options.candidate.model, dtype.value_or(options.candidate.dtype), validation_json(report));
    if (!stored) spdlog::warn("the report is not kept beside the weights: {}", stored.error().message);
  }

  ModelFlags model_;
  SampleFlags samples_;
  ValidationRule rule_;
  std::string reference_;
  std::string candidate_;
  std::string reference_dtype_ = "float32";
  std::string query_prompt_;
  std::string passage_prompt_;
  std::string page_;
  std::vector<std::string> output_types_;
  CLI::Option* query_prompt_given_ = nullptr;
  CLI::Option* passage_prompt_given_ = nullptr;
  int worst_ = 10;
  bool fallback_ = false;
  bool no_store_ = false;
  bool json_ = false;
  bool quiet_ = false;
  bool passed_ = false;
};

}  // namespace

std::unique_ptr<Command> make_validate_command() { return std::make_unique<ValidateCommand>(); }

}  // namespace inlay
