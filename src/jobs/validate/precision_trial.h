// Other precisions of a model, tried on texts until one is good enough.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/validate/comparison.h"
#include "jobs/validate/report.h"

namespace inlay {

// Runs the model of `options` in the precision over the workload and judges it beside the reference's run.
Result<PrecisionTrial> try_precision(EngineOptions options, Precision precision, const Workload& workload,
                                     const ModelRun& reference, const ValidationRule& rule, const JobHooks& hooks);

struct DtypeChoice {
  Precision dtype = Precision::kFloat32;
  std::string why;                     // a sentence
  std::vector<PrecisionTrial> trials;  // in the order in which they were made
};

// Tries int8, then 16 bits, and takes the first that the rule allows and that is not slower than float32; float32 if there is
// none. All of the same folder, on the same texts.
Result<DtypeChoice> choose_dtype(const EngineOptions& options, const Sample& texts, const ValidationRule& rule,
                                 const JobHooks& hooks);

// "int8: suited, P99 0.00213, 312.4 texts/s", or with the first reason why not.
std::string trial_text(const PrecisionTrial& trial);

}  // namespace inlay
