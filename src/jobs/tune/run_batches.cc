#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "jobs/tune/load.h"
#include "jobs/validate/quality.h"

namespace inlay {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kLeastLength = 4;
constexpr int kMostLength = 256;

// What one thread did.
struct LaneCount {
  std::vector<double> seconds;  // of each batch
  uint64_t tokens = 0;
  uint64_t texts = 0;
  uint64_t touched = 0;
};

// Batches of similar lengths that fill `batch_tokens`. Few texts are taken more than once.
std::vector<std::vector<const TokenizedText*>> batches_of(const LoadTexts& texts, int batch_tokens) {
  std::vector<const TokenizedText*> pool;
  std::vector<int> lengths;
  int64_t total = 0;
  // Four batches at least, so that they differ.
  while (total < 4 * int64_t{batch_tokens}) {
    for (const TokenizedText& text : texts.tokenized) {
      pool.push_back(&text);
      lengths.push_back(static_cast<int>(text.ids.size()));
      total += lengths.back();
    }
  }
  std::vector<std::vector<const TokenizedText*>> batches;
  for (const std::vector<uint32_t>& group : plan_batches(lengths, batch_tokens)) {
    std::vector<const TokenizedText*>& batch = batches.emplace_back();
    for (const uint32_t index : group) batch.push_back(pool[index]);
  }
  return batches;
}

class BatchRun {
 public:
  BatchRun(const Engine& engine, std::vector<std::vector<const TokenizedText*>> batches, double seconds)
      : engine_(engine),
        batches_(std::move(batches)),
        end_(SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds))) {}

  LaneCount run_lane(const std::function<bool()>& stopped) {
    LaneCount count;
    const EngineLanePtr lane = engine_.make_lane();
    run_batch(*lane, nullptr);
    while ((count.seconds.size() < 2 || SteadyClock::now() < end_) && !(stopped && stopped())) run_batch(*lane, &count);
    count.touched = engine_.lane_memory(*lane).touched;
    return count;
  }

 private:
  // Not counted without a `count`: it warms up.
  void run_batch(EngineLane& lane, LaneCount* count) {
    // Steps that share no factor with most counts visit long and short texts by turns.
    const std::vector<const TokenizedText*>& batch = batches_[next_.fetch_add(7) % batches_.size()];
    std::vector<float> out(batch.size() * static_cast<size_t>(engine_.dimensions()));
    std::vector<Result<>> status(batch.size());
    const SteadyClock::time_point begin = SteadyClock::now();
    engine_.embed_batch(lane, batch, out.data(), status);
    if (count == nullptr) return;
    count->seconds.push_back(std::chrono::duration<double>(SteadyClock::now() - begin).count());
    count->texts += batch.size();
    for (const TokenizedText* text : batch) count->tokens += text->ids.size();
  }

  const Engine& engine_;
  std::vector<std::vector<const TokenizedText*>> batches_;
  SteadyClock::time_point end_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

Result<LoadTexts> texts_for_load(const Engine& engine, std::vector<std::string> texts) {
  LoadTexts load;
  double tokens = 0;
  for (const std::string& text : texts) {
    load.tokenized.push_back(TRY(engine.tokenize(text)));
    tokens += static_cast<double>(load.tokenized.back().ids.size());
  }
  if (texts.empty()) return fail(ErrorCode::kInvalidArgument, "no texts to load the model with");
  load.mean_tokens = tokens / static_cast<double>(texts.size());
  load.texts = std::move(texts);
  return load;
}

LoadTexts made_up_texts(const Engine& engine, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const double most = std::min(kMostLength, engine.max_length());
  const double least = std::min<double>(kLeastLength, most);
  LoadTexts load;
  for (size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(random() % 4096) / 4096;
    TokenizedText& text = load.tokenized.emplace_back();
    text.ids.resize(static_cast<size_t>(least * std::pow(most / least, share)));
    for (int32_t& id : text.ids) id = static_cast<int32_t>(random() % static_cast<uint64_t>(engine.spec().encoder.vocab_size));
    load.mean_tokens += static_cast<double>(text.ids.size()) / static_cast<double>(count);
  }
  return load;
}

Result<BatchPoint> run_batches(const Engine& engine, const LoadTexts& texts, int batch_tokens, double seconds,
                               const std::function<bool()>& stopped) {
  BatchRun run(engine, batches_of(texts, batch_tokens), seconds);
  std::vector<LaneCount> counts(static_cast<size_t>(engine.threads()));
  {
    std::vector<std::jthread> threads;
    for (LaneCount& count : counts) threads.emplace_back([&run, &count, &stopped] { count = run.run_lane(stopped); });
  }
  if (stopped && stopped()) return fail(ErrorCode::kCancelled, "interrupted");
  BatchPoint point;
  point.batch_tokens = batch_tokens;
  std::vector<double> all;
  double texts_run = 0;
  for (const LaneCount& count : counts) {
    double busy = 0;
    for (const double one : count.seconds) busy += one;
    // Each lane by its own clock: none waits for another one's last batch.
    point.tokens_per_second += static_cast<double>(count.tokens) / busy;
    point.memory_bytes += count.touched;
    texts_run += static_cast<double>(count.texts);
    all.insert(all.end(), count.seconds.begin(), count.seconds.end());
  }
  point.batch_texts = texts_run / static_cast<double>(all.size());
  std::sort(all.begin(), all.end());
  point.p50 = percentile(all, 0.5);
  point.p99 = percentile(all, 0.99);
  return point;
}

}  // namespace inlay
