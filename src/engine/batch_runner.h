// What the scheduler runs batches on: an engine, or a stand-in in tests.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "base/team.h"
#include "engine/engine.h"

namespace inlay {

// Memory for one batch at a time.
class Arena {
 public:
  virtual ~Arena() = default;
  // One thread begins and ends a batch; all threads of `share` call run() in between and are synchronised by the caller. Any of
  // these may throw, but what throws in run() must do so on all threads of the share alike.
  virtual void begin(std::span<const TokenizedText* const> texts) = 0;
  virtual void run(const Share& share) = 0;
  // As Engine::embed_batch writes them.
  virtual void end(float* out, std::span<Result<>> status) = 0;
  // As Engine::collect.
  virtual Result<> collect(int text, TextOutput& output) = 0;
};

// All functions may be called from any thread.
class BatchRunner {
 public:
  virtual ~BatchRunner() = default;
  virtual int lanes() const = 0;
  virtual int dimensions() const = 0;
  virtual int max_batch_tokens() const = 0;  // that gain speed
  virtual int max_arena_tokens() const = 0;  // that an arena holds
  virtual Result<> check(const TokenizedText& text) const = 0;
  virtual std::unique_ptr<Arena> make_arena(int ranks) const = 0;
};

// `engine` must outlive the runner and its arenas.
std::unique_ptr<BatchRunner> make_engine_runner(const Engine& engine);

}  // namespace inlay
