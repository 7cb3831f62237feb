#include "jobs/embed_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "jobs/engine_stages.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

// The stages that touch files. The reader belongs to the calling thread, so others see its position through `bytes_read`.
void connect_files(BulkStages& stages, TextReader& reader, VectorWriter& writer, std::atomic<uint64_t>& bytes_read) {
  stages.read = [&reader, &bytes_read] {
    Result<std::optional<TextRow>> row = reader.next();
    bytes_read.store(reader.bytes_read(), std::memory_order_relaxed);
    return row;
  };
  stages.abort_read = [&reader] { reader.cancel(); };
  stages.flush = [&writer] { return writer.flush(); };
}

// Rows are read ahead of the work, so what was read as a share of the file is scaled by how much of that is done.
std::optional<double> share_done(const BulkProgress& progress, uint64_t file_bytes_read, std::optional<uint64_t> file_bytes) {
  if (!file_bytes || *file_bytes == 0 || progress.bytes_read == 0) return std::nullopt;
  const double read = static_cast<double>(file_bytes_read) / static_cast<double>(*file_bytes);
  return std::min(1.0, read * static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_read));
}

}  // namespace

Result<EmbedReport> run_embed_job(const Engine& engine, TextReader& reader, VectorWriter& writer, OnError on_error,
                                  const JobHooks& hooks) {
  EngineStages lanes(engine);
  BulkOptions bulk = lanes.options();
  bulk.on_error = on_error;
  std::atomic<uint64_t> bytes_read = 0;
  BulkStages stages;
  lanes.install(stages);
  connect_files(stages, reader, writer, bytes_read);
  stages.stopped = hooks.stopped;
  stages.write = [&](uint64_t index, const TextRow& row, std::span<const float> vector) -> Result<> {
    const RowKey key = {index, row.line, row.id};
    if (row.text) return writer.write(key, vector);
    if (hooks.skipped) hooks.skipped(row.text.error().message);
    return writer.write_failed(key, row.text.error().message);
  };
  stages.progress = [&](const BulkProgress& progress) {
    if (hooks.progress) hooks.progress({progress.texts_done, share_done(progress, bytes_read, reader.total_bytes())});
  };
  const Clock::time_point begin = Clock::now();
  EmbedReport report;
  report.rows = TRY(run_bulk(bulk, stages));
  TRY_VOID(writer.finish());
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return report;
}

}  // namespace inlay
