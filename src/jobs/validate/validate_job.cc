#include "jobs/validate/validate_job.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "jobs/validate/comparison.h"
#include "jobs/validate/precision_trial.h"
#include "model/model_spec.h"

namespace inlay {
namespace {

std::string now_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

// The folder's prompt of the first of these names that it has.
std::optional<std::string> named_prompt(const ModelSpec& spec, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::map<std::string, std::string>::const_iterator found = spec.prompts.find(name);
    if (found != spec.prompts.end()) return found->second;
  }
  return std::nullopt;
}

Result<Workload::Prompts> prompts_for(const ValidateOptions& options) {
  const ModelSpec spec = TRY(read_model_spec(options.reference.model));
  const bool is_told = options.reference.prompt || options.reference.prompt_name;
  Workload::Prompts prompts = {options.query_prompt, options.passage_prompt};
  if (!prompts.query && !is_told) prompts.query = named_prompt(spec, {"query"});
  if (!prompts.passage && !is_told) prompts.passage = named_prompt(spec, {"document", "passage", "corpus"});
  return prompts;
}

// A part of a longer job: the `part`th of `parts`.
JobHooks hooks_of_part(const JobHooks& hooks, int part, int parts) {
  JobHooks result;
  result.stopped = hooks.stopped;
  if (!hooks.progress) return result;
  result.progress = [&hooks, part, parts](const JobProgress& progress) {
    hooks.progress({progress.texts_done, (part + progress.share_done.value_or(0)) / parts});
  };
  return result;
}

// Tries the precisions that nearly always pass, from the reference's own files, until one does.
Result<> try_fallbacks(const ValidateOptions& options, const Workload& workload, const ModelRun& reference,
                       const JobHooks& hooks, ValidationReport& report) {
  for (const Precision precision : {Precision::kBFloat16, Precision::kFloat16}) {
    if (precision_name(precision) == reference.figures.dtype) continue;
    report.fallbacks.push_back(TRY(try_precision(options.reference, precision, workload, reference, options.rule, hooks)));
    if (report.fallbacks.back().verdict.passed) return {};
  }
  return {};
}

std::vector<std::string_view> views_of(std::span<const PromptedText> texts) {
  std::vector<std::string_view> views;
  for (const PromptedText& text : texts) views.push_back(text.text);
  return views;
}

}  // namespace

Result<ValidationReport> run_validation(const ValidateOptions& options, const Sample& texts, const Sample& pairs,
                                        const JobHooks& hooks) {
  const Workload workload(texts, pairs, TRY(prompts_for(options)));
  if (workload.all().empty()) return fail(ErrorCode::kInvalidArgument, "neither texts nor pairs were given");
  if (!options.outputs.empty() && pairs.rows.empty()) {
    return fail(ErrorCode::kInvalidArgument, "what an output type loses shows in retrieval: give pairs");
  }
  TRY_VOID(check_comparable(options.reference, options.candidate, views_of(workload.all())));
  ValidationReport report;
  report.created = now_text();
  report.texts = texts.rows.size();
  report.pairs = pairs.rows.size();
  report.unusable_rows = texts.unusable + pairs.unusable;
  report.rule = options.rule;
  const ModelRun reference = TRY(run_model(options.reference, workload.all(), hooks_of_part(hooks, 0, 2)));
  const ModelRun candidate = TRY(run_model(options.candidate, workload.all(), hooks_of_part(hooks, 1, 2)));
  compare_runs(workload, reference, candidate, options.worst, report);
  measure_outputs(workload, candidate, options.outputs, report);
  if (options.try_fallbacks && !report.verdict.passed) {
    TRY_VOID(try_fallbacks(options, workload, reference, hooks_of_part(hooks, 0, 1), report));
  }
  return report;
}

}  // namespace inlay
