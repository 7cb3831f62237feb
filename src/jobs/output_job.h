// What a model gives besides one vector a text, for the rows of an input: JSON lines.
#pragma once

#include <cstdint>
#include <functional>

#include "base/output_file.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/rerank.h"
#include "jobs/text_reader.h"

namespace inlay {

struct OutputJobOptions {
  OutputKind kind = OutputKind::kSparse;
  ScoreForm form = ScoreForm::kModel;  // of kScores
  bool skips_bad_rows = false;         // else the first one ends the job
};

struct OutputReport {
  uint64_t texts = 0;
  uint64_t tokens = 0;
  uint64_t truncated = 0;
  uint64_t failed = 0;
};

// Gives the next row, nothing at the end, or why the input cannot be read any further.
using NextRow = std::function<Result<std::optional<TextRow>>()>;

// Writes a line for each row, in the order of the input: {"id":…} ("index" where the row has none) and
//   kScores  "scores": {"label": number, …}
//   kSparse  "indices": [ids of the vocabulary], "values": [their weights]
//   kTokens  "ids": [of the tokens], "vectors": [a list a token]
//   kVector  "embedding": […]
// A row that is left out gets "error" instead; `skipped` is told of it and may be empty. `out` is not committed.
Result<OutputReport> run_output_job(const Engine& engine, const OutputJobOptions& options, const NextRow& next, OutputFile& out,
                                    const std::function<void(const std::string&)>& skipped);

}  // namespace inlay
