// Ranks the rows of an input for a query.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/rerank.h"
#include "jobs/text_reader.h"

namespace inlay {

struct RerankJobOptions {
  std::string query;
  size_t top_k = 0;  // rows to keep; 0: all
  ScoreForm form = ScoreForm::kModel;
  bool skips_bad_rows = false;  // else the first one ends the job
};

struct RankedRow {
  uint64_t index = 0;  // in the input, from 0
  std::string id;      // as in TextRow
  std::string text;
  float score = 0;
};

// Gives the next row, nothing at the end, or why the input cannot be read any further.
using NextRow = std::function<Result<std::optional<TextRow>>()>;

// Rows from the highest score to the lowest, equal ones in the order of the input. Memory grows with top_k, or with the input
// where all rows are kept. `skipped` is told of rows that were left out, and why; it may be empty.
Result<std::vector<RankedRow>> run_rerank_job(const Engine& engine, const RerankJobOptions& options, const NextRow& next,
                                              const std::function<void(const std::string&)>& skipped);

// {"index":…,"id":…,"score":…,"text":…} and a line break; no id where the row has none.
std::string ranked_line(const RankedRow& row);

}  // namespace inlay
