// The bulk job: rows of an input become vectors of an output.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/bulk.h"
#include "jobs/text_reader.h"
#include "jobs/vector_writer.h"

namespace inlay {

struct JobProgress {
  uint64_t texts_done = 0;
  std::optional<double> share_done;  // 0 to 1, where the size of the input is known
};

// What a job tells while it runs. All may be empty.
struct JobHooks {
  // Any thread, after every batch.
  std::function<void(const JobProgress&)> progress;
  // One thread at a time, in the order of the input: a row was skipped, and why ("line 7: the text is blank").
  std::function<void(const std::string& why)> skipped;
  // Any thread, often: true ends the job with kCancelled.
  std::function<bool()> stopped;
};

struct EmbedReport {
  BulkReport rows;
  double seconds = 0;  // from the first row read to the output in place; the engine was loaded before
};

// On success the output is complete and in place. On an error nothing new is in place, but what went to a pipe is whole rows in
// order; the message of a row's error names its line.
Result<EmbedReport> run_embed_job(const Engine& engine, TextReader& reader, VectorWriter& writer, OnError on_error,
                                  const JobHooks& hooks);

}  // namespace inlay
