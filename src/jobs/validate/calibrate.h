// Ranges of a model's vectors, from texts.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "engine/output_type.h"
#include "jobs/embed_job.h"
#include "jobs/validate/sample.h"

namespace inlay {

// The least and the greatest of each number over the vectors of the texts. Texts that cannot be embedded are left out; none
// left is kInvalidArgument.
Result<OutputRanges> calibrate_ranges(const Engine& engine, const Sample& texts, const JobHooks& hooks);

}  // namespace inlay
