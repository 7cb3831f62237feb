#include "jobs/rerank_job.h"

#include <algorithm>

#include "base/json_writer.h"

namespace inlay {
namespace {

// Rows that are scored together: enough for several batches a lane.
constexpr size_t kWindowRows = 1024;

bool is_better(const RankedRow& a, const RankedRow& b) { return a.score != b.score ? a.score > b.score : a.index < b.index; }

class RerankJob {
 public:
  RerankJob(const Engine& engine, const RerankJobOptions& options, const std::function<void(const std::string&)>& skipped)
      : engine_(engine), options_(options), skipped_(skipped) {}

  Result<> run(const NextRow& next) {
    TRY_VOID(can_rerank(engine_));
    for (;;) {
      std::optional<TextRow> row = TRY(next());
      if (!row) return score_window();
      const uint64_t index = rows_++;
      if (!row->text) {
        TRY_VOID(leave_out(row->text.error()));
        continue;
      }
      window_.push_back({index, std::move(row->id), *std::move(row->text), 0});
      lines_.push_back(row->line);
      if (window_.size() == kWindowRows) TRY_VOID(score_window());
    }
  }

  std::vector<RankedRow> take() {
    std::sort(kept_.begin(), kept_.end(), is_better);
    return std::move(kept_);
  }

 private:
  Result<> leave_out(const Error& error) const {
    if (!options_.skips_bad_rows) return tl::unexpected<Error>(error);
    if (skipped_) skipped_(error.message);
    return {};
  }

  Result<> score_window() {
    std::vector<std::string> texts;
    for (const RankedRow& row : window_) texts.push_back(row.text);
    const std::vector<Result<float>> scores = TRY(rerank(engine_, options_.query, texts, options_.form));
    for (size_t i = 0; i < scores.size(); ++i) {
      if (!scores[i]) {
        TRY_VOID(leave_out({scores[i].error().code, fmt::format("line {}: {}", lines_[i], scores[i].error().message)}));
        continue;
      }
      window_[i].score = *scores[i];
      kept_.push_back(std::move(window_[i]));
    }
    window_.clear();
    lines_.clear();
    if (options_.top_k > 0 && kept_.size() > options_.top_k) {
      std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(options_.top_k), kept_.end(), is_better);
      kept_.resize(options_.top_k);
    }
    return {};
  }

  const Engine& engine_;
  const RerankJobOptions& options_;
  const std::function<void(const std::string&)>& skipped_;
  uint64_t rows_ = 0;
  std::vector<RankedRow> window_;
  std::vector<uint64_t> lines_;  // of the window's rows
  std::vector<RankedRow> kept_;
};

}  // namespace

Result<std::vector<RankedRow>> run_rerank_job(const Engine& engine, const RerankJobOptions& options, const NextRow& next,
                                              const std::function<void(const std::string&)>& skipped) {
  RerankJob job(engine, options, skipped);
  TRY_VOID(job.run(next));
  return job.take();
}

std::string ranked_line(const RankedRow& row) {
  JsonWriter json;
  json.begin_object().key("index").value(row.index);
  if (!row.id.empty()) json.key("id").raw(row.id);
  json.key("score").value(row.score).key("text").value(std::string_view(row.text)).end_object();
  return json.text() + "\n";
}

}  // namespace inlay
