// inlay bench: speed on the user's texts.
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/input_flags.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"
#include "jobs/bench_job.h"
#include "jobs/latency_job.h"

namespace inlay {
namespace {

constexpr const char* kBenchFooter =
    "Peak is what a loop of multiply-adds on registers reaches on the same cores in the same run; share of peak is the work of "
    "the\n"
    "linear layers and of attention, divided by the time of a round (tokenising included) and by that peak.\n"
    "With --latency, texts go one at a time, and what is told is how long one takes from its characters to its vector.\n"
    "Examples:\n  inlay bench --model all-MiniLM-L6-v2 --texts docs.jsonl --max-length 256\n"
    "  inlay bench --model all-MiniLM-L6-v2 --texts queries.txt --latency --runs 500";

constexpr double kGiga = 1e9;
constexpr double kMilli = 1e3;  // milliseconds of a second

class BenchCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    model_.add_all(app);
    input_.add(app, "--texts")->capture_default_str();
    add_value(app, "--rounds", rounds_, "Rounds, after one to warm up")->capture_default_str()->check(CLI::Range(1, 1000));
    add_switch(app, "--latency", latency_, "Time single texts instead of all together");
    add_value(app, "--runs", runs_, "Texts to time with --latency")->capture_default_str()->check(CLI::Range(1, 1000000));
    add_switch(app, "--json", json_, "One line of JSON instead of a table");
    add_switch(app, "--quiet", quiet_, "No progress");
    app.footer(kBenchFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    const EngineOptions options = TRY(model_.options(&interrupt));
    TextReader reader = TRY(input_.open(interrupt));
    const std::vector<std::string> texts = TRY(read_all_texts(reader));
    const Engine engine = TRY(Engine::load(options));
    const std::string text = TRY(latency_ ? latency_text(engine, texts, interrupt) : speed_text(engine, texts, interrupt));
    OutputFile out = TRY(OutputFile::create("-"));
    TRY_VOID(out.write(text));
    return out.commit();
  }

 private:
  Result<std::string> latency_text(const Engine& engine, const std::vector<std::string>& texts,
                                   const Interrupt& interrupt) const {
    const std::function<bool()> stopped = [&interrupt] { return interrupt.requested(); };
    const LatencyReport report = TRY(run_latency(engine, texts, runs_, stopped));
    return json_ ? json_text(report, engine) : table_text(report, engine);
  }

  Result<std::string> speed_text(const Engine& engine, const std::vector<std::string>& texts,
                                 const Interrupt& interrupt) const {
    const BenchReport report = TRY(measure(engine, texts, interrupt));
    return json_ ? json_text(report, engine) : table_text(report, engine);
  }

  Result<BenchReport> measure(const Engine& engine, const std::vector<std::string>& texts, const Interrupt& interrupt) const {
    ProgressBar bar(quiet_);
    JobHooks hooks;
    hooks.stopped = [&interrupt] { return interrupt.requested(); };
    hooks.progress = [&bar](const JobProgress& progress) { bar.update(progress); };
    return run_bench(engine, texts, rounds_, hooks);
  }

  static std::string json_text(const BenchReport& report, const Engine& engine) {
    const double best = report.best_seconds();
    JsonWriter json;
    json.begin_object().key("texts").value(report.texts).key("tokens").value(report.tokens);
    json.key("truncated").value(report.truncated).key("seconds").begin_array();
    for (const double seconds : report.seconds) json.value(seconds);
    json.end_array().key("docs_per_s").value(static_cast<double>(report.texts) / best);
    json.key("median_docs_per_s").value(static_cast<double>(report.texts) / report.median_seconds());
    json.key("tokens_per_s").value(static_cast<double>(report.tokens) / best);
    json.key("gflops").value(report.flop / best / kGiga).key("peak_gflops").value(report.peak / kGiga);
    json.key("share_of_peak").value(report.flop / best / report.peak);
    json.key("tokenize_seconds").value(report.tokenize_seconds).key("batch_fill").value(report.batch_fill);
    json.key("peak_rss_bytes").value(report.memory.process.peak_resident).key("weight_bytes").value(engine.weight_bytes());
    put_memory(json, report.memory);
    json.key("dtype").value(precision_name(engine.precision())).key("isa").value(engine.isa());
    json.key("threads").value(engine.threads()).key("max_length").value(engine.max_length()).end_object();
    return json.text() + "\n";
  }

  static std::string table_text(const BenchReport& report, const Engine& engine) {
    const double best = report.best_seconds();
    const double texts = static_cast<double>(report.texts);
    const double tokens = static_cast<double>(report.tokens);
    std::string text = fmt::format("{:<14} {} texts, {} tokens ({:.1f} a text), {} truncated at {}\n", "work", report.texts,
                                   report.tokens, tokens / texts, report.truncated, engine.max_length());
    text += fmt::format("{:<14} {}, {} kernels, {} threads\n", "computed in", precision_name(engine.precision()), engine.isa(),
                        engine.threads());
    text += fmt::format("{:<14} {:.1f} docs/s best, {:.1f} median of {} rounds\n", "speed", texts / best,
                        texts / report.median_seconds(), report.seconds.size());
    text += fmt::format("{:<14} {:.0f} tokens/s; tokenising alone {:.0f} tokens/s on one thread\n", "", tokens / best,
                        tokens / report.tokenize_seconds);
    text += fmt::format("{:<14} {:.1f} GFLOP/s of {:.1f}: {:.1f} %\n", "share of peak", report.flop / best / kGiga,
                        report.peak / kGiga, 100 * report.flop / best / report.peak);
    text += fmt::format("{:<14} {:.1f} %\n", "batch fill", 100 * report.batch_fill);
    return text + memory_lines(report.memory);
  }

  static std::string json_text(const LatencyReport& report, const Engine& engine) {
    JsonWriter json;
    json.begin_object().key("runs").value(uint64_t{report.seconds.size()}).key("tokens").value(report.tokens);
    json.key("min_ms").value(kMilli * report.seconds.front()).key("p50_ms").value(kMilli * report.percentile(0.5));
    json.key("p90_ms").value(kMilli * report.percentile(0.9)).key("p99_ms").value(kMilli * report.percentile(0.99));
    json.key("max_ms").value(kMilli * report.seconds.back());
    json.key("dtype").value(precision_name(engine.precision())).key("isa").value(engine.isa());
    json.key("threads").value(engine.threads()).key("max_length").value(engine.max_length()).end_object();
    return json.text() + "\n";
  }

  static std::string table_text(const LatencyReport& report, const Engine& engine) {
    std::string text =
        fmt::format("{:<14} {} texts one at a time, {:.1f} tokens each\n", "work", report.seconds.size(), report.tokens);
    text += fmt::format("{:<14} {}, {} kernels, {} threads\n", "computed in", precision_name(engine.precision()), engine.isa(),
                        engine.threads());
    text += fmt::format("{:<14} P50 {:.3f} ms, P90 {:.3f} ms, P99 {:.3f} ms; {:.3f} to {:.3f} ms\n", "latency",
                        kMilli * report.percentile(0.5), kMilli * report.percentile(0.9), kMilli * report.percentile(0.99),
                        kMilli * report.seconds.front(), kMilli * report.seconds.back());
    return text;
  }

  ModelFlags model_;
  InputFlags input_;
  int rounds_ = 3;
  int runs_ = 500;
  bool latency_ = false;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace inlay
