// The bulk pipeline: rows in, vectors out in the same order, with every core busy and memory bounded whatever the input's size.
// It knows neither files nor models: what it does with a row is given as functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/text_reader.h"

namespace inlay {

// What becomes of a job that meets a row it cannot embed.
enum class OnError : uint8_t {
  kFail,  // it ends with the error of the first such row in the order of the input
  kSkip,  // the row gets an error in the output, and the job goes on
};

struct BulkOptions {
  int lanes = 1;             // threads that tokenise, embed and write, beside the calling one, which only reads
  int dimensions = 0;        // floats of a vector
  int max_batch_tokens = 0;  // of one batch
  OnError on_error = OnError::kFail;
  // A window ends at whichever comes first. The more rows, the more equal in length the texts of a batch: of documents with 20
  // to 256 tokens, those in a batch of 512 tokens differ by 12.6 tokens on average with windows of 64 rows, by 3.3 with 256,
  // and by 0.4 with 2000 or more. 16 MiB of text bound memory for long texts.
  size_t window_rows = 4096;
  size_t window_bytes = size_t{16} << 20;
};

// How far a job is. Bytes are those of texts: they tell the work better than a count of texts, since long ones come first.
struct BulkProgress {
  uint64_t texts_read = 0;
  uint64_t texts_done = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_done = 0;
};

// What the pipeline does at each step. Functions marked "any thread" are called from several threads at once.
struct BulkStages {
  // The calling thread. nullopt ends the input; an error ends the job.
  std::function<Result<std::optional<TextRow>>()> read;
  // Any thread.
  std::function<Result<TokenizedText>(std::string_view)> tokenize;
  // Any thread; `lane` in [0, lanes) is in use by one thread at a time. `out` is [texts, dimensions]; a text that failed gets a
  // status.
  std::function<void(int lane, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status)> embed;
  // One thread at a time, in the order of the input: row number (from 0), the row, and its vector if row.text has a value.
  // An error ends the job.
  std::function<Result<>(uint64_t index, const TextRow& row, std::span<const float> vector)> write;
  // One thread at a time, after the last row of a window was written. May be empty.
  std::function<Result<>()> flush;
  // Any thread, after every batch. May be empty.
  std::function<void(const BulkProgress&)> progress;
  // Any thread, often: true ends the job with kCancelled. May be empty.
  std::function<bool()> stopped;
  // Any thread, once, when the job fails: makes a read() that waits for input return. May be empty.
  std::function<void()> abort_read;
};

struct BulkReport {
  uint64_t texts = 0;      // rows, failed ones included
  uint64_t tokens = 0;     // that were fed to the model: special tokens included, after truncation, without padding
  uint64_t truncated = 0;  // texts cut at the maximum length
  uint64_t failed = 0;
  uint64_t batches = 0;
};

// Returns when every row was written or the job has failed; no thread of it is left then. Lanes sleep while they have nothing
// to do. At most three windows exist at a time.
Result<BulkReport> run_bulk(const BulkOptions& options, const BulkStages& stages);

}  // namespace inlay
