// scheduler_sim: compares scheduling policies on synthetic or recorded arrivals.
#include <CLI/CLI.hpp>

#include <cstdio>

#include "scheduler_sim_load.h"

namespace inlay {
namespace {

struct Settings {
  std::string scenario = "mixed";
  std::string trace = {};
  std::string cost_file = {};
  std::vector<std::string> policies = {"inlay", "no-interrupts", "large-batches", "one-class", "window"};
  ScenarioOptions load;
  SimMachine machine;
  BatchLimits limits;
};

struct Policy {
  SimMachine machine;
  BatchLimits limits;
};

// What the policy changes of the settings.
Result<Policy> policy_named(const std::string& name, const Settings& settings) {
  Policy policy = {.machine = settings.machine, .limits = settings.limits};
  policy.limits.lanes = policy.machine.lanes;
  if (name == "inlay") return policy;
  policy.machine.interrupts = false;
  if (name == "no-interrupts") return policy;
  if (name == "large-batches") {
    policy.limits.max_batch_tokens = 16384;
    policy.limits.min_batch_tokens = 16384;
    return policy;
  }
  policy.machine.one_class = true;
  if (name == "one-class") return policy;
  if (name != "window") {
    return fail(ErrorCode::kInvalidArgument, "policy '{}' is none of inlay, no-interrupts, large-batches, one-class, window",
                name);
  }
  // Classic dynamic batching: 32 items, or whatever came within 50 ms.
  policy.limits.max_batch_tokens = 16384;
  policy.limits.min_batch_tokens = 16384;
  policy.limits.max_batch_requests = 32;
  policy.limits.max_queue_delay.fill(std::chrono::milliseconds(50));
  return policy;
}

void print(const std::string& policy, const SimReport& report) {
  static constexpr const char* kNames[kPriorities] = {"interactive", "standard", "bulk"};
  const double batches = static_cast<double>(std::max<int64_t>(report.batches, 1));
  fmt::print("{}: {:.1f} s, {} batches of {:.1f} tokens in {:.1f} texts, {} interruptions, lanes {:.0f} % busy\n", policy,
             report.seconds, report.batches, static_cast<double>(report.batch_tokens) / batches,
             static_cast<double>(report.batch_texts) / batches, report.interruptions, 100 * report.busy);
  for (int c = 0; c < kPriorities; ++c) {
    const SimReport::ClassReport& part = report.classes[c];
    if (part.latencies.empty() && part.dropped == 0) continue;
    fmt::print(
        "  {:<12}{:>8} requests  mean {:>9.2f} ms  P50 {:>9.2f} ms  P99 {:>9.2f} ms  {:>9.1f} texts/s  {:>9.0f} tokens/s  "
        "{} texts dropped\n",
        kNames[c], part.latencies.size(), 1e3 * part.mean(), 1e3 * part.percentile(0.5), 1e3 * part.percentile(0.99),
        static_cast<double>(part.texts) / report.seconds, static_cast<double>(part.tokens) / report.seconds, part.dropped);
  }
}

Result<> run(Settings& settings) {
  if (!settings.cost_file.empty()) settings.machine.cost = TRY(fit_costs(settings.cost_file));
  for (const std::string& name : settings.policies) {
    const Policy policy = TRY(policy_named(name, settings));
    const SimLoad load =
        TRY(settings.trace.empty() ? make_scenario(settings.scenario, settings.load) : read_trace(settings.trace));
    print(name, simulate(load, policy.machine, policy.limits));
  }
  return {};
}

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--scenario", settings.scenario, "queries, bursts, closed, import, mixed, untagged or tenants")
      ->capture_default_str();
  app.add_option("--trace", settings.trace, "recorded arrivals instead (JSON lines: at, tokens, priority, tenant, timeout_ms)");
  app.add_option("--policy", settings.policies, "policies to compare")->capture_default_str();
  app.add_option("--seconds", settings.load.seconds, "how long requests are sent")->capture_default_str();
  app.add_option("--rate", settings.load.rate, "queries a second")->capture_default_str();
  app.add_option("--connections", settings.load.connections, "clients of closed and tenants")->capture_default_str();
  app.add_option("--list", settings.load.list, "documents a request of an import")->capture_default_str();
  app.add_option("--query-tokens", settings.load.query_tokens, "mean")->capture_default_str();
  app.add_option("--document-tokens", settings.load.document_tokens, "mean")->capture_default_str();
  app.add_option("--seed", settings.load.seed, "of the arrivals")->capture_default_str();
  app.add_option("--lanes", settings.machine.lanes, "threads that compute")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--cost-batch", settings.machine.cost.a, "seconds a batch")->capture_default_str();
  app.add_option("--cost-token", settings.machine.cost.b, "seconds a token")->capture_default_str();
  app.add_option("--cost-pair", settings.machine.cost.c, "seconds a pair of tokens of a text")->capture_default_str();
  app.add_option("--cost-few", settings.machine.cost.d,
                 "seconds added where tokens are few: all of it for none, nothing from 24 on")
      ->capture_default_str();
  app.add_option("--cost-file", settings.cost_file,
                 "fit the three from batches that ran (JSON lines: tokens, squares, seconds)");
  app.add_option("--request-overhead", settings.machine.request_overhead, "seconds a request beside the scheduler")
      ->capture_default_str();
  app.add_option("--team-efficiency", settings.machine.team_efficiency, "what each further lane adds to the speed of the first")
      ->capture_default_str();
  app.add_option("--max-interactive-tokens", settings.limits.max_interactive_tokens)->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-batch-tokens", settings.limits.max_batch_tokens)->capture_default_str()->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-batch-requests", settings.limits.max_batch_requests)->capture_default_str();
  app.add_option("--min-share-bulk", settings.limits.min_share[2])->capture_default_str();
}

}  // namespace
}  // namespace inlay

int main(int argc, char** argv) {
  inlay::Settings settings;
  settings.limits.max_interactive_tokens = inlay::kInteractiveTokens;
  CLI::App app(
      "Compares scheduling policies on synthetic or recorded arrivals.\nExample: scheduler_sim --scenario mixed --rate 50");
  inlay::add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  if (const inlay::Result<> ran = inlay::run(settings); !ran) {
    fmt::print(stderr, "scheduler_sim: {}\n", ran.error().message);
    return 2;
  }
  return 0;
}
