// How lanes stay busy. A lane takes, in this order: writing the oldest window if it is complete, a batch of a tokenised window,
// a block of texts to tokenise; each from the oldest window that has one. Since up to three windows exist, the lanes that find
// no batch left at the end of a window tokenise the next one meanwhile, and run its batches as soon as it is planned. Batches
// run longest first, so that only a short one can be the last.
#include "jobs/bulk.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/bulk_window.h"

namespace inlay {
namespace {

constexpr size_t kMaxWindows = 3;  // one being filled or tokenised, one being embedded, one finishing

struct Task {
  enum class Kind : uint8_t { kNone, kWrite, kBatch, kBlock } kind = Kind::kNone;
  BulkWindow* window = nullptr;
  size_t index = 0;  // of the batch or block
};

// Memory of one lane, kept from batch to batch.
struct LaneArena {
  std::vector<const TokenizedText*> texts;
  std::vector<float> vectors;
  std::vector<Result<>> status;
};

class BulkRun {
 public:
  BulkRun(const BulkOptions& options, const BulkStages& stages) : options_(options), stages_(stages) {}

  Result<BulkReport> run();

 private:
  void read_all();
  Result<std::unique_ptr<BulkWindow>> fill_window(uint64_t first_index, bool& is_last);

  void work(int lane);
  Task next_task();
  Result<> do_task(const Task& task, int lane, LaneArena& memory);
  void tokenize_block(BulkWindow& window, size_t block);
  void embed_batch(BulkWindow& window, size_t batch, int lane, LaneArena& memory);
  Result<> write_window(BulkWindow& window);
  void finish_task(const Task& task, std::unique_lock<std::mutex>& lock);
  void finish_block(BulkWindow& window, std::unique_lock<std::mutex>& lock);
  void finish_window(std::unique_lock<std::mutex>& lock);
  void stop_at_first_error();
  void stop(Error error);

  const BulkOptions& options_;
  const BulkStages& stages_;

  std::mutex mutex_;  // guards everything below and the counters of windows
  std::condition_variable work_;
  std::condition_variable space_;
  std::deque<std::unique_ptr<BulkWindow>> windows_;  // in the order of the input
  bool is_writing_ = false;
  bool input_ended_ = false;
  std::optional<Error> error_;  // the first one ends the job
  BulkReport report_;           // written by the writing lane only

  // Told as progress; each is exact, but together they may be of slightly different moments.
  std::atomic<uint64_t> texts_read_ = 0;
  std::atomic<uint64_t> texts_done_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;
  std::atomic<uint64_t> bytes_done_ = 0;
};

Result<BulkReport> BulkRun::run() {
  std::vector<std::jthread> lanes;
  for (int lane = 0; lane < options_.lanes; ++lane) lanes.emplace_back([this, lane] { work(lane); });
  read_all();
  lanes.clear();
  if (error_) return tl::unexpected<Error>(*error_);
  return report_;
}

void BulkRun::read_all() {
  bool is_last = false;
  for (uint64_t index = 0; !is_last;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      space_.wait(lock, [this] { return error_ || windows_.size() < kMaxWindows; });
      if (error_) break;
    }
    Result<std::unique_ptr<BulkWindow>> window = fill_window(index, is_last);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!window) {
      stop(window.error());
      break;
    }
    index += (*window)->size();
    if ((*window)->size() > 0) windows_.push_back(*std::move(window));
    work_.notify_all();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  input_ended_ = true;
  work_.notify_all();
}

Result<std::unique_ptr<BulkWindow>> BulkRun::fill_window(uint64_t first_index, bool& is_last) {
  std::unique_ptr<BulkWindow> window = std::make_unique<BulkWindow>(first_index);
  while (window->size() < options_.window_rows && window->text_bytes() < options_.window_bytes) {
    if (stages_.stopped && stages_.stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    std::optional<TextRow> row = TRY(stages_.read());
    if (!row) {
      is_last = true;
      break;
    }
    ++texts_read_;
    bytes_read_ += row->bytes();
    is_last = !row->text && options_.on_error == OnError::kFail;  // Nothing after it will be used.
    window->add(*std::move(row));
    if (is_last) break;
  }
  return window;
}

void BulkRun::work(int lane) {
  LaneArena memory;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!error_) {
    const Task task = next_task();
    if (task.kind == Task::Kind::kNone) {
      if (input_ended_ && windows_.empty()) return;
      work_.wait(lock);
      continue;
    }
    lock.unlock();
    const Result<> done = do_task(task, lane, memory);
    const bool is_cancelled = stages_.stopped && stages_.stopped();
    lock.lock();
    if (!done) {
      stop(done.error());
    } else if (is_cancelled) {
      stop(Error{ErrorCode::kCancelled, "interrupted"});
    } else {
      finish_task(task, lock);
    }
  }
}

Task BulkRun::next_task() {
  if (!windows_.empty() && !is_writing_) {
    BulkWindow& oldest = *windows_.front();
    if (oldest.is_planned && oldest.batches_done == oldest.batch_count()) {
      is_writing_ = true;
      return {Task::Kind::kWrite, &oldest, 0};
    }
  }
  for (const std::unique_ptr<BulkWindow>& window : windows_) {
    if (window->is_planned && window->batches_taken < window->batch_count()) {
      return {Task::Kind::kBatch, window.get(), window->batches_taken++};
    }
  }
  for (const std::unique_ptr<BulkWindow>& window : windows_) {
    if (window->blocks_taken < window->block_count()) return {Task::Kind::kBlock, window.get(), window->blocks_taken++};
  }
  return {};
}

// Libraries below may throw (out of memory); a lane is one of the walls where that becomes an error.
Result<> BulkRun::do_task(const Task& task, int lane, LaneArena& memory) {
  try {
    switch (task.kind) {
      case Task::Kind::kBlock: tokenize_block(*task.window, task.index); break;
      case Task::Kind::kBatch: embed_batch(*task.window, task.index, lane, memory); break;
      case Task::Kind::kWrite: return write_window(*task.window);
      case Task::Kind::kNone: break;
    }
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kInternal, "{}", exception.what());
  }
  return {};
}

void BulkRun::tokenize_block(BulkWindow& window, size_t block) {
  const std::span<TextRow> rows = window.block_rows(block);
  const std::span<TokenizedText> tokens = window.block_tokens(block);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].text) continue;
    Result<TokenizedText> tokenized = stages_.tokenize(rows[i]);
    if (tokenized) {
      tokens[i] = *std::move(tokenized);
    } else {
      rows[i].text = tl::unexpected<Error>(within(fmt::format("line {}", rows[i].line))(tokenized.error()));
    }
  }
}

void BulkRun::embed_batch(BulkWindow& window, size_t batch, int lane, LaneArena& memory) {
  const std::vector<uint32_t>& members = window.batch(batch);
  const size_t dimensions = static_cast<size_t>(options_.dimensions);
  memory.texts.clear();
  for (const uint32_t member : members) memory.texts.push_back(&window.tokens(member));
  if (memory.vectors.size() < members.size() * dimensions) memory.vectors.resize(members.size() * dimensions);
  memory.status.assign(members.size(), {});
  stages_.embed(lane, memory.texts, memory.vectors.data(), memory.status);
  for (size_t i = 0; i < members.size(); ++i) {
    TextRow& row = window.row(members[i]);
    const float* vector = memory.vectors.data() + i * dimensions;
    std::copy_n(vector, dimensions, window.vector(members[i]).begin());
    ++texts_done_;
    bytes_done_ += row.bytes();
    if (!memory.status[i]) {
      row.text = tl::unexpected<Error>(within(fmt::format("line {}", row.line))(memory.status[i].error()));
    }
  }
  if (stages_.progress) stages_.progress({texts_read_, texts_done_, bytes_read_, bytes_done_});
}

Result<> BulkRun::write_window(BulkWindow& window) {
  for (size_t i = 0; i < window.size(); ++i) {
    const TextRow& row = window.row(i);
    if (!row.text && options_.on_error == OnError::kFail) return tl::unexpected<Error>(row.text.error());
    TRY_VOID(stages_.write(window.first_index() + i, row, window.vector(i)));
    ++report_.texts;
    report_.failed += row.text ? 0 : 1;
    report_.tokens += row.text ? window.tokens(i).ids.size() : 0;
    report_.truncated += row.text && window.tokens(i).truncated ? 1 : 0;
  }
  report_.batches += window.batch_count();
  return stages_.flush ? stages_.flush() : Result<>();
}

void BulkRun::finish_task(const Task& task, std::unique_lock<std::mutex>& lock) {
  switch (task.kind) {
    case Task::Kind::kBlock:
      if (++task.window->blocks_done == task.window->block_count()) finish_block(*task.window, lock);
      break;
    case Task::Kind::kBatch:
      if (++task.window->batches_done == task.window->batch_count()) work_.notify_all();
      break;
    case Task::Kind::kWrite: finish_window(lock); break;
    case Task::Kind::kNone: break;
  }
}

void BulkRun::finish_block(BulkWindow& window, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  window.plan(options_.dimensions, options_.max_batch_tokens);
  lock.lock();
  window.is_planned = true;
  if (options_.on_error == OnError::kFail) stop_at_first_error();
  work_.notify_all();
}

void BulkRun::finish_window(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<BulkWindow> finished = std::move(windows_.front());
  windows_.pop_front();
  is_writing_ = false;
  space_.notify_all();
  work_.notify_all();
  lock.unlock();  // The others need not wait while megabytes are freed.
  finished.reset();
  lock.lock();
}

// Errors of texts are looked at window by window in order, so that it is always the first bad row that is named.
void BulkRun::stop_at_first_error() {
  for (const std::unique_ptr<BulkWindow>& window : windows_) {
    if (!window->is_planned || error_) return;
    if (window->is_checked) continue;
    window->is_checked = true;
    if (window->first_error()) stop(*window->first_error());
  }
}

void BulkRun::stop(Error error) {
  if (error_) return;
  error_ = std::move(error);
  work_.notify_all();
  space_.notify_all();
  if (stages_.abort_read) stages_.abort_read();
}

}  // namespace

Result<BulkReport> run_bulk(const BulkOptions& options, const BulkStages& stages) { return BulkRun(options, stages).run(); }

}  // namespace inlay
