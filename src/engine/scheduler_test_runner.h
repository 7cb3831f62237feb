// A stand-in for the engine: vectors that tell their text, and faults on demand.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "engine/batch_runner.h"

namespace inlay {

inline constexpr int32_t kThrows = 666;    // a text with this id makes run() throw
inline constexpr int32_t kNotFinite = 13;  // a text with this id gets an error of its own

class TestRunner final : public BatchRunner {
 public:
  explicit TestRunner(int lanes) : lanes_(lanes) {}

  // Called in every run() before anything else.
  std::function<void(std::span<const TokenizedText* const>, const Share&)> on_run = [](auto, const Share&) {};
  std::atomic<int> most_ranks = 0;

  int lanes() const override { return lanes_; }
  int dimensions() const override { return 2; }
  int max_batch_tokens() const override { return 64; }
  int max_arena_tokens() const override { return 100; }
  Result<> check(const TokenizedText& text) const override {
    if (text.ids.empty()) return fail(ErrorCode::kInvalidArgument, "no tokens");
    if (text.ids.size() > 100) return fail(ErrorCode::kTooLarge, "{} tokens", text.ids.size());
    return {};
  }
  std::unique_ptr<Arena> make_arena(int) const override { return std::make_unique<TestArena>(const_cast<TestRunner&>(*this)); }

 private:
  class TestArena final : public Arena {
   public:
    explicit TestArena(TestRunner& runner) : runner_(runner) {}
    void begin(std::span<const TokenizedText* const> texts) override { texts_.assign(texts.begin(), texts.end()); }
    void run(const Share& share) override {
      for (int most = runner_.most_ranks; most < share.size && !runner_.most_ranks.compare_exchange_weak(most, share.size);) {
      }
      runner_.on_run(texts_, share);
      for (const TokenizedText* text : texts_) {
        if (std::count(text->ids.begin(), text->ids.end(), kThrows) > 0) throw std::runtime_error("marked text");
      }
    }
    // The first id and the number of ids.
    void end(float* out, std::span<Result<>> status) override {
      for (size_t i = 0; i < texts_.size(); ++i) {
        out[2 * i] = static_cast<float>(texts_[i]->ids.front());
        out[2 * i + 1] = static_cast<float>(texts_[i]->ids.size());
        if (texts_[i]->ids.front() == kNotFinite) status[i] = fail(ErrorCode::kInternal, "not finite");
      }
    }

    // The ids as scores.
    Result<> collect(int text, TextOutput& output) override {
      output.scores.assign(texts_[text]->ids.begin(), texts_[text]->ids.end());
      return {};
    }

   private:
    TestRunner& runner_;
    std::vector<const TokenizedText*> texts_;
  };

  const int lanes_;
};

// Holds whoever passes until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  void wait_for(int arrivals) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= arrivals; });
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool is_open_ = false;
};

}  // namespace inlay
