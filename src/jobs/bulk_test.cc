#include "jobs/bulk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "jobs/bulk_window.h"

namespace inlay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

constexpr int kDimensions = 3;

// A model without a model: a text's vector is made of its own bytes, so that a vector in the wrong place is seen.
// Texts steer it: "bad…" cannot be tokenised, "nan…" cannot be embedded.
Result<TokenizedText> fake_tokenize(std::string_view text) {
  if (text.starts_with("bad")) return fail(ErrorCode::kTooLarge, "too long");
  TokenizedText tokens;
  for (const char symbol : text) tokens.ids.push_back(symbol);
  tokens.truncated = text.size() > 30;
  return tokens;
}

std::vector<float> fake_vector(const TokenizedText& text) {
  std::vector<float> vector = {static_cast<float>(text.ids.size()), 0, 1};
  for (size_t i = 0; i < text.ids.size(); ++i) vector[1] += static_cast<float>(text.ids[i]) * static_cast<float>(i + 1);
  return vector;
}

void fake_embed(int, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status) {
  for (size_t i = 0; i < texts.size(); ++i) {
    std::ranges::copy(fake_vector(*texts[i]), out + i * kDimensions);
    if (texts[i]->ids.size() > 2 && texts[i]->ids[0] == 'n') status[i] = fail(ErrorCode::kInternal, "not finite");
  }
}

// A job over texts in memory that records what it wrote.
class Job {
 public:
  explicit Job(std::vector<std::string> texts) : texts_(std::move(texts)) {
    options.lanes = 2;
    options.dimensions = kDimensions;
    options.max_batch_tokens = 64;
    options.window_rows = 100;
    stages.read = [this]() -> Result<std::optional<TextRow>> {
      if (read_ == texts_.size()) return std::nullopt;
      const uint64_t line = read_ + 1;
      const std::string& text = texts_[read_++];
      if (text.empty()) return TextRow{line, {}, fail(ErrorCode::kInvalidArgument, "line {}: the text is blank", line)};
      return TextRow{line, std::to_string(line), text};
    };
    stages.tokenize = [](const TextRow& row) { return fake_tokenize(*row.text); };
    stages.embed = fake_embed;
    stages.write = [this](uint64_t index, const TextRow& row, std::span<const float> vector) -> Result<> {
      EXPECT_EQ(index, written.size());
      written.push_back(row.text ? *row.text : "!" + row.text.error().message);
      if (row.text) {
        EXPECT_EQ(std::vector<float>(vector.begin(), vector.end()), fake_vector(*fake_tokenize(*row.text)));
      }
      return {};
    };
  }

  Result<BulkReport> run() { return run_bulk(options, stages); }

  BulkOptions options;
  BulkStages stages;
  std::vector<std::string> written;

 private:
  std::vector<std::string> texts_;
  size_t read_ = 0;
};

std::vector<std::string> random_texts(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    const size_t length = 1 + random() % (random() % 10 == 0 ? 200 : 20);
    for (size_t i = 0; i < length; ++i) text += static_cast<char>('A' + random() % 26);
  }
  return texts;
}

TEST(Bulk, KeepsTheOrderWhateverTheLengthsAndLanes) {
  for (const int lanes : {1, 2, 3, 8}) {
    for (const size_t count : {0U, 1U, 31U, 33U, 100U, 101U, 2500U}) {
      const std::vector<std::string> texts = random_texts(count, static_cast<uint32_t>(count));
      Job job(texts);
      job.options.lanes = lanes;
      const Result<BulkReport> report = job.run();
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(report->texts, count);
      EXPECT_EQ(job.written, texts) << count << " texts, seed " << count << ", " << lanes << " lanes";
    }
  }
}

TEST(Bulk, CountsTokensTruncatedAndFailed) {
  Job job({"four", std::string(31, 'x'), "", "bad", "nan", "ab"});
  job.options.on_error = OnError::kSkip;
  const BulkReport report = job.run().value();
  EXPECT_EQ(report.texts, 6U);
  EXPECT_EQ(report.tokens, 4U + 31 + 2);
  EXPECT_EQ(report.truncated, 1U);
  EXPECT_EQ(report.failed, 3U);
}

TEST(Bulk, CaseH37SkippedRowsStayInPlace) {
  Job job({"cat", "", "dog", "bad", "nan", "bird"});
  job.options.on_error = OnError::kSkip;
  ASSERT_TRUE(job.run());
  EXPECT_THAT(job.written,
              ElementsAre("cat", "!line 2: the text is blank", "dog", "!line 4: too long", "!line 5: not finite", "bird"));
}

TEST(Bulk, FailsWithTheFirstBadRowInOrder) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> texts = random_texts(1000, 5);
    texts[450] = "bad";
    texts[449] = "bad";
    texts[600] = "";
    Job job(texts);
    job.options.lanes = 4;
    const Result<BulkReport> report = job.run();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message, "line 450: too long");
    EXPECT_EQ(report.error().code, ErrorCode::kTooLarge);
    ASSERT_LE(job.written.size(), 449U);
    texts.resize(job.written.size());
    EXPECT_EQ(job.written, texts);
  }
}

TEST(Bulk, FailsWithARowThatCannotBeEmbedded) {
  std::vector<std::string> texts = random_texts(300, 6);
  texts[150] = "nan";
  Job job(texts);
  EXPECT_EQ(job.run().error().message, "line 151: not finite");
  EXPECT_THAT(job.written, SizeIs(150));
}

// The second window is embedded before the first is tokenised, so that the lane of the first looks for errors meanwhile. Only
// the thread sanitizer sees what is wrong then, and only where nothing else orders the two lanes.
TEST(Bulk, ErrorsOfAWindowThatOvertakesAnotherAreNotReadWhileTheyAreWritten) {
  std::vector<std::string> texts(BulkWindow::kBlockRows, "slow");
  texts.push_back("nan");
  Job job(texts);
  job.options.window_rows = BulkWindow::kBlockRows;
  std::promise<void> overtaken;
  std::promise<void> written;
  const std::shared_future<void> after_writing = written.get_future().share();
  job.stages.tokenize = [&](const TextRow& row) {
    if (row.line == 1) overtaken.get_future().wait();
    return fake_tokenize(*row.text);
  };
  job.stages.embed = [&](int lane, std::span<const TokenizedText* const> batch, float* out, std::span<Result<>> status) {
    if (batch[0]->ids[0] == 'n') {
      overtaken.set_value();
      std::this_thread::sleep_for(50ms);  // Time for the other lane.
    } else {
      after_writing.wait();
    }
    fake_embed(lane, batch, out, status);
  };
  job.stages.progress = [&](const BulkProgress& progress) {
    if (progress.texts_done == 1) written.set_value();
  };
  EXPECT_EQ(job.run().error().message, "line 33: not finite");
}

TEST(Bulk, DoesNotReadOnAfterARowThatFailsTheJob) {
  std::vector<std::string> texts = random_texts(1000, 7);
  texts[10] = "";
  Job job(texts);
  uint64_t reads = 0;
  job.stages.read = [&reads, read = job.stages.read] {
    ++reads;
    return read();
  };
  EXPECT_EQ(job.run().error().message, "line 11: the text is blank");
  EXPECT_EQ(reads, 11U);
}

TEST(Bulk, AnErrorOfTheInputEndsTheJob) {
  Job job(random_texts(250, 8));
  job.stages.read = [count = 0, read = job.stages.read]() mutable -> Result<std::optional<TextRow>> {
    if (++count > 220) return fail(ErrorCode::kInternal, "disk on fire");
    return read();
  };
  EXPECT_EQ(job.run().error().message, "disk on fire");
}

TEST(Bulk, AnErrorOfTheWriterEndsTheJobEvenWhileReadingWaits) {
  Job job({});
  std::promise<void> aborted;
  job.stages.read = [&, count = 0]() mutable -> Result<std::optional<TextRow>> {
    if (++count <= 100) return TextRow{1, {}, std::string("x")};
    aborted.get_future().wait();  // Standard input that says nothing more.
    return fail(ErrorCode::kCancelled, "input cancelled");
  };
  job.stages.write = [](uint64_t, const TextRow&, std::span<const float>) -> Result<> {
    return fail(ErrorCode::kInternal, "no space left");
  };
  job.stages.abort_read = [&] { aborted.set_value(); };
  EXPECT_EQ(job.run().error().message, "no space left");
}

TEST(Bulk, AnExceptionOfALaneIsAnErrorOfTheJob) {
  Job job(random_texts(10, 9));
  job.stages.embed = [](int, std::span<const TokenizedText* const>, float*, std::span<Result<>>) { throw std::bad_alloc(); };
  EXPECT_EQ(job.run().error().code, ErrorCode::kInternal);
}

TEST(Bulk, StopsWhenAsked) {
  Job job(random_texts(100000, 10));
  std::atomic<int> batches = 0;
  job.stages.progress = [&](const BulkProgress&) { ++batches; };
  job.stages.stopped = [&] { return batches > 5; };
  EXPECT_EQ(job.run().error().code, ErrorCode::kCancelled);
  EXPECT_LT(batches, 20);
}

TEST(Bulk, ReadsAtMostThreeWindowsAhead) {
  Job job(random_texts(3000, 11));
  std::atomic<uint64_t> read = 0;
  uint64_t most = 0;
  job.stages.read = [&read, inner = job.stages.read] {
    ++read;
    return inner();
  };
  job.stages.write = [&](uint64_t index, const TextRow&, std::span<const float>) -> Result<> {
    if (index % 100 == 0) std::this_thread::sleep_for(2ms);  // Time for a reader that does not wait to run away.
    most = std::max(most, read - index);
    return {};
  };
  ASSERT_TRUE(job.run());
  EXPECT_LE(most, 3U * 100 + 1);
}

TEST(Bulk, EndsAWindowOfLongTextsByTheirBytes) {
  Job job(std::vector<std::string>(40, std::string(1000, 'x')));
  job.options.window_bytes = 4000;
  std::atomic<uint64_t> read = 0;
  uint64_t most = 0;
  job.stages.read = [&read, inner = job.stages.read] {
    ++read;
    return inner();
  };
  job.stages.write = [&](uint64_t index, const TextRow&, std::span<const float>) -> Result<> {
    std::this_thread::sleep_for(1ms);
    most = std::max(most, read - index);
    return {};
  };
  ASSERT_TRUE(job.run());
  EXPECT_LE(most, 3U * 4 + 1);
}

// Every lane must be inside embed() at once before any may leave: it hangs unless all lanes get batches of one window.
TEST(Bulk, UsesAllLanesAtOnce) {
  Job job(std::vector<std::string>(100, std::string(40, 'x')));
  job.options.lanes = 4;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<int> inside;
  bool all_met = false;
  job.stages.embed = [&](int lane, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status) {
    fake_embed(lane, texts, out, status);
    std::unique_lock<std::mutex> lock(mutex);
    inside.insert(lane);
    all_met = all_met || inside.size() == 4;
    changed.notify_all();
    changed.wait_for(lock, 5s, [&] { return all_met; });
  };
  ASSERT_TRUE(job.run());
  EXPECT_TRUE(all_met);
}

// One lane is held inside the last batch of the first window; the other must tokenise and embed the second one meanwhile.
TEST(Bulk, ALaneDoesNotWaitForTheEndOfAWindow) {
  std::vector<std::string> texts(200, std::string(40, 'x'));
  texts[0] = "first";
  Job job(texts);
  std::promise<void> second_window_embedded;
  std::atomic<int> batches = 0;
  bool was_released = false;
  std::shared_future<void> released(second_window_embedded.get_future());
  job.stages.embed = [&](int lane, std::span<const TokenizedText* const> batch, float* out, std::span<Result<>> status) {
    fake_embed(lane, batch, out, status);
    if (std::ranges::any_of(batch, [](const TokenizedText* text) { return text->ids.size() == 5; })) {
      was_released = released.wait_for(5s) == std::future_status::ready;
    }
    if (++batches == 150) second_window_embedded.set_value();
  };
  ASSERT_TRUE(job.run());
  EXPECT_TRUE(was_released);
}

// Batches that sleep as long as their tokens would compute: 2,000 texts of 20 to 256 tokens, 10 us a token, batches of 256
// tokens. Lanes were inside embed() 99.7 to 99.8 % of the time from the first batch to the last, the end of a window and of the
// input included.
TEST(Bulk, KeepsLanesBusyToTheEnd) {
  std::mt19937 random(13);
  std::vector<std::string> texts(2000);
  for (std::string& text : texts) text.assign(20 + (random() % 237) * (random() % 237) / 237, 'x');
  Job job(texts);
  job.options.window_rows = 600;
  job.options.max_batch_tokens = 256;
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  Clock::time_point begin = Clock::time_point::max();
  Clock::time_point end;
  Clock::duration busy{};
  job.stages.embed = [&](int lane, std::span<const TokenizedText* const> batch, float* out, std::span<Result<>> status) {
    const Clock::time_point entered = Clock::now();
    size_t tokens = 0;
    for (const TokenizedText* text : batch) tokens += text->ids.size();
    std::this_thread::sleep_for(tokens * 10us);
    fake_embed(lane, batch, out, status);
    const std::lock_guard<std::mutex> lock(mutex);
    const Clock::time_point left = Clock::now();
    begin = std::min(begin, entered);
    end = std::max(end, left);
    busy += left - entered;
  };
  ASSERT_TRUE(job.run());
  const double share = std::chrono::duration<double>(busy) / (2 * std::chrono::duration<double>(end - begin));
  RecordProperty("busy_share", std::to_string(share));
  EXPECT_GT(share, 0.9) << "seed 13";
}

TEST(Bulk, BatchesHoldTextsOfSimilarLength) {
  Job job(random_texts(2000, 12));
  job.options.window_rows = 2000;
  job.options.max_batch_tokens = 400;
  std::mutex mutex;
  size_t spread = 0;
  size_t count = 0;
  job.stages.embed = [&](int lane, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status) {
    fake_embed(lane, texts, out, status);
    size_t shortest = 1000;
    size_t longest = 0;
    for (const TokenizedText* text : texts) {
      shortest = std::min(shortest, text->ids.size());
      longest = std::max(longest, text->ids.size());
    }
    const std::lock_guard<std::mutex> lock(mutex);
    spread += longest - shortest;
    ++count;
  };
  ASSERT_TRUE(job.run());
  EXPECT_LT(spread / count, 6U);
}

}  // namespace
}  // namespace inlay
