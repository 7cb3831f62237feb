#include "jobs/validate/model_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "jobs/engine_stages.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Enough to see the difference in speed of single texts and a wrong bit, in a second or two.
constexpr size_t kAlone = 48;
// What is embedded before the clock starts.
constexpr size_t kWarmUp = 32;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

Result<TokenizedText> tokenize(const Engine& engine, const PromptedText& text) {
  TextOptions options;
  options.prompt = text.prompt;
  return engine.tokenize(text.text, options);
}

// The pipeline of `inlay embed` over texts in memory.
class BulkPass {
 public:
  BulkPass(const Engine& engine, std::span<const PromptedText> texts, const JobHooks& hooks)
      : engine_(engine), texts_(texts), hooks_(hooks), lanes_(engine) {}

  // Embeds the first `count` texts into `run`.
  Result<> embed(size_t count, ModelRun& run) {
    BulkStages stages;
    lanes_.install(stages);
    connect(stages, count, run);
    BulkOptions options = lanes_.options();
    options.on_error = OnError::kSkip;
    const SteadyClock::time_point begin = SteadyClock::now();
    const BulkReport report = TRY(run_bulk(options, stages));
    run.figures.seconds = seconds_since(begin);
    run.figures.tokens = report.tokens;
    return {};
  }

  LaneMemory memory() const { return lanes_.memory(); }

 private:
  void connect(BulkStages& stages, size_t count, ModelRun& run) {
    next_ = 0;
    stages.read = [this, count]() -> Result<std::optional<TextRow>> {
      if (next_ == count) return std::nullopt;
      const uint64_t line = ++next_;
      return TextRow{line, {}, std::string(texts_[line - 1].text)};
    };
    stages.tokenize = [this, &run](const TextRow& row) {
      Result<TokenizedText> tokens = tokenize(engine_, texts_[row.line - 1]);
      if (tokens) run.tokens[row.line - 1] = static_cast<int>(tokens->ids.size());
      return tokens;
    };
    stages.write = [&run](uint64_t index, const TextRow& row, std::span<const float> vector) -> Result<> {
      run.failed[index] = row.text ? 0 : 1;
      if (!row.text && !run.fault) run.fault = row.text.error().message;
      if (row.text)
        std::copy(vector.begin(), vector.end(), run.vectors.begin() + static_cast<std::ptrdiff_t>(index * vector.size()));
      return {};
    };
    stages.stopped = hooks_.stopped;
    stages.progress = [this](const BulkProgress& progress) {
      const double share = static_cast<double>(progress.texts_done) / static_cast<double>(texts_.size());
      if (hooks_.progress) hooks_.progress({progress.texts_done, share});
    };
  }

  const Engine& engine_;
  std::span<const PromptedText> texts_;
  const JobHooks& hooks_;
  EngineStages lanes_;
  size_t next_ = 0;
};

// Embeds some of the texts again, each alone, and compares every bit.
Result<> run_alone(const Engine& engine, std::span<const PromptedText> texts, const JobHooks& hooks, ModelRun& run) {
  std::vector<double> seconds;
  const size_t count = std::min(kAlone, texts.size());
  for (size_t i = 0; i < count; ++i) {
    if (hooks.stopped && hooks.stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    const size_t index = i * texts.size() / count;
    if (run.failed[index] != 0) continue;
    const SteadyClock::time_point begin = SteadyClock::now();
    const TokenizedText tokens = TRY(tokenize(engine, texts[index]));
    const std::vector<Result<std::vector<float>>> alone = engine.embed({&tokens, 1});
    seconds.push_back(seconds_since(begin));
    ++run.bits.texts;
    const std::span<const float> batched = run.vector(index);
    const bool is_same = alone.front() && std::memcmp(alone.front()->data(), batched.data(), batched.size_bytes()) == 0;
    run.bits.different += is_same ? 0 : 1;
  }
  std::sort(seconds.begin(), seconds.end());
  run.figures.single_p50_seconds = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  return {};
}

uint64_t bytes_of_files(const ModelSpec& spec) {
  const Result<WeightStore> store = WeightStore::open(spec.folder);
  return store ? store->total_bytes() : 0;
}

void describe(const Engine& engine, const EngineOptions& options, ModelFigures& figures) {
  figures.folder = options.model.string();
  figures.dtype = precision_name(engine.precision());
  figures.isa = engine.isa();
  figures.threads = engine.threads();
  figures.dimensions = engine.dimensions();
  figures.file_bytes = bytes_of_files(engine.spec());
  figures.weight_bytes = engine.weight_bytes();
}

uint64_t bytes_in_memory(const Engine& engine, const LaneMemory& lanes) {
  const EngineMemory memory = engine.memory();
  const auto sum = [](const WeightBytes& bytes) { return bytes.own + bytes.cached + bytes.in_place; };
  return sum(memory.linear) + sum(memory.tables) + memory.tokenizer + lanes.touched;
}

}  // namespace

Result<ModelRun> run_model(const EngineOptions& options, std::span<const PromptedText> texts, const JobHooks& hooks) {
  ModelRun run;
  const SteadyClock::time_point begin = SteadyClock::now();
  const Engine engine = TRY(Engine::load(options));
  run.figures.load_seconds = seconds_since(begin);
  describe(engine, options, run.figures);
  run.vectors.resize(texts.size() * static_cast<size_t>(engine.dimensions()));
  run.tokens.resize(texts.size());
  run.failed.resize(texts.size());
  BulkPass pass(engine, texts, hooks);
  TRY_VOID(pass.embed(std::min(kWarmUp, texts.size()), run));
  run.fault.reset();
  TRY_VOID(pass.embed(texts.size(), run));
  run.figures.texts_per_second = static_cast<double>(texts.size()) / run.figures.seconds;
  run.figures.tokens_per_second = static_cast<double>(run.figures.tokens) / run.figures.seconds;
  run.figures.memory_bytes = bytes_in_memory(engine, pass.memory());
  TRY_VOID(run_alone(engine, texts, hooks, run));
  return run;
}

}  // namespace inlay
