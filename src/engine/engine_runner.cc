#include "engine/batch_runner.h"
#include "engine/engine_impl.h"

namespace inlay {
namespace {

class EngineArena final : public Arena {
 public:
  EngineArena(const Engine& engine, int ranks) : engine_(engine), lane_(engine.make_lane(ranks)) {}

  void begin(std::span<const TokenizedText* const> texts) override { engine_.begin_batch(*lane_, texts); }
  void run(const Share& share) override { engine_.run_batch(*lane_, share); }
  void end(float* out, std::span<Result<>> status) override { engine_.end_batch(*lane_, out, status); }
  Result<> collect(int text, TextOutput& output) override { return engine_.collect(*lane_, text, output); }

 private:
  const Engine& engine_;
  EngineLanePtr lane_;
};

class EngineRunner final : public BatchRunner {
 public:
  explicit EngineRunner(const Engine& engine) : engine_(engine) {}

  int lanes() const override { return engine_.threads(); }
  int dimensions() const override { return engine_.dimensions(); }
  int max_batch_tokens() const override { return engine_.max_batch_tokens(); }
  int max_arena_tokens() const override { return engine_.max_lane_tokens(); }
  Result<> check(const TokenizedText& text) const override { return engine_.check(text); }
  std::unique_ptr<Arena> make_arena(int ranks) const override { return std::make_unique<EngineArena>(engine_, ranks); }

 private:
  const Engine& engine_;
};

}  // namespace

std::unique_ptr<BatchRunner> make_engine_runner(const Engine& engine) { return std::make_unique<EngineRunner>(engine); }

}  // namespace inlay
