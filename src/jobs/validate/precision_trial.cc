#include "jobs/validate/precision_trial.h"

#include <utility>

#include "kernels/kernels.h"
#include "model/encoder.h"

namespace inlay {
namespace {

// The smaller the faster, as a rule; of 16 bits first those that this CPU computes in.
std::vector<Precision> precisions_to_try(const Kernels& table) {
  if (bf16_is_fast(table)) return {Precision::kInt8, Precision::kBFloat16, Precision::kFloat16};
  return {Precision::kInt8, Precision::kFloat16, Precision::kBFloat16};
}

}  // namespace

Result<PrecisionTrial> try_precision(EngineOptions options, Precision precision, const Workload& workload,
                                     const ModelRun& reference, const ValidationRule& rule, const JobHooks& hooks) {
  options.dtype = precision;
  const ModelRun run = TRY(run_model(options, workload.all(), hooks));
  ValidationReport report;
  report.rule = rule;
  compare_runs(workload, reference, run, 0, report);
  const RetrievalGroup* pairs = report.all_pairs();
  return PrecisionTrial{.dtype = run.figures.dtype,
                        .distance = report.distance,
                        .recall_5_loss = pairs == nullptr ? std::optional<double>() : pairs->recall_5_loss(),
                        .texts_per_second = run.figures.texts_per_second,
                        .verdict = report.verdict};
}

std::string trial_text(const PrecisionTrial& trial) {
  const std::string recall = trial.recall_5_loss ? fmt::format(", Recall@5 {:.2f} % lost", 100 * *trial.recall_5_loss) : "";
  const std::string verdict = trial.verdict.passed ? "suited" : "not suited: " + trial.verdict.reasons.front();
  return fmt::format("{}: {}, P99 {:.6f}{}, {:.1f} texts/s", trial.dtype, verdict, trial.distance.p99, recall,
                     trial.texts_per_second);
}

Result<DtypeChoice> choose_dtype(const EngineOptions& options, const Sample& texts, const ValidationRule& rule,
                                 const JobHooks& hooks) {
  const Sample no_pairs;
  const Workload workload(texts, no_pairs, {});
  EngineOptions reference_options = options;
  reference_options.dtype = Precision::kFloat32;
  const ModelRun reference = TRY(run_model(reference_options, workload.all(), hooks));
  if (reference.fault) return fail(ErrorCode::kInvalidArgument, "a text to validate on: {}", *reference.fault);
  DtypeChoice choice;
  for (const Precision precision : precisions_to_try(options.kernels == nullptr ? kernels() : *options.kernels)) {
    choice.trials.push_back(TRY(try_precision(options, precision, workload, reference, rule, hooks)));
    const PrecisionTrial& trial = choice.trials.back();
    if (!trial.verdict.passed || trial.texts_per_second < reference.figures.texts_per_second) continue;
    choice.dtype = precision;
    choice.why = fmt::format("{}, against {:.1f} texts/s in float32", trial_text(trial), reference.figures.texts_per_second);
    return choice;
  }
  choice.why = fmt::format("float32: no smaller precision is both suited and faster than its {:.1f} texts/s",
                           reference.figures.texts_per_second);
  return choice;
}

}  // namespace inlay
