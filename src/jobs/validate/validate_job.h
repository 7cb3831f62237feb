// Compares a candidate model with its reference on the user's own texts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/output_type.h"
#include "jobs/embed_job.h"
#include "jobs/validate/report.h"
#include "jobs/validate/sample.h"

namespace inlay {

struct ValidateOptions {
  EngineOptions reference;
  EngineOptions candidate;
  // Put before queries and before the texts that answer them; where not given, the folder's prompts of the names that
  // sentence-transformers uses ("query"; "document", "passage" or "corpus"), or else the engine's.
  std::optional<std::string> query_prompt = {};
  std::optional<std::string> passage_prompt = {};
  ValidationRule rule = {};
  size_t worst = 10;                     // texts to list
  bool try_fallbacks = false;            // where the candidate fails: bfloat16 and float16 of the reference's folder
  std::vector<OutputType> outputs = {};  // types of stored vectors to measure; needs pairs
};

// Says first whether the two can be compared at all: one architecture, the same vocabulary, ids, lengths and dimensions, or an
// kInvalidArgument that says which differs. One model is in memory at a time. `texts` or `pairs` may be empty, not both;
// without texts, those of the pairs are compared.
Result<ValidationReport> run_validation(const ValidateOptions& options, const Sample& texts, const Sample& pairs,
                                        const JobHooks& hooks);

// That check alone. Looks at the ids of some of the texts.
Result<> check_comparable(const EngineOptions& reference, const EngineOptions& candidate,
                          const std::vector<std::string_view>& texts);

}  // namespace inlay
