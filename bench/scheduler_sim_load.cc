#include "scheduler_sim_load.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

#include "base/json.h"

namespace inlay {
namespace {

constexpr int kBurst = 50;
constexpr int kImportConnections = 4;
constexpr int64_t kMaxTokens = 1 << 20;

SimClient lists(const ScenarioOptions& options, Priority priority, uint32_t seed) {
  const std::shared_ptr<Lengths> lengths = std::make_shared<Lengths>(options.document_tokens, 0.6, options.max_tokens, seed);
  return {.priority = priority,
          .tenant = "lists",
          .connections = kImportConnections,
          .next_lengths = [lengths, count = options.list] { return lengths->list(count); }};
}

SimClient query_client(const ScenarioOptions& options, Priority priority, uint32_t seed) {
  const std::shared_ptr<Lengths> lengths = std::make_shared<Lengths>(options.query_tokens, 0.4, options.max_tokens, seed);
  return {.priority = priority, .tenant = "queries", .connections = options.connections, .next_lengths = [lengths] {
            return lengths->list(1);
          }};
}

// Poisson arrivals of `burst` queries at a time.
std::vector<SimRequest> queries(const ScenarioOptions& options, Priority priority, int burst) {
  std::mt19937 random(options.seed);
  std::exponential_distribution<double> gap(options.rate / burst);
  Lengths lengths(options.query_tokens, 0.4, options.max_tokens, options.seed + 1);
  std::vector<SimRequest> requests;
  for (double at = gap(random); at < options.seconds; at += gap(random)) {
    for (int i = 0; i < burst; ++i) {
      requests.push_back({.at = at, .priority = priority, .tenant = "queries", .lengths = lengths.list(1)});
    }
  }
  return requests;
}

Result<Priority> priority_named(std::string_view name) {
  if (name == "interactive") return Priority::kInteractive;
  if (name == "standard") return Priority::kStandard;
  if (name == "bulk") return Priority::kBulk;
  return fail(ErrorCode::kInvalidArgument, "priority '{}' is none of interactive, standard, bulk", name);
}

Result<double> number(const Json& line, const char* key) {
  const Json value = TRY(line.get(key));
  return value.as_double();
}

Result<SimRequest> parse_request(const Json& line) {
  SimRequest request;
  request.at = TRY(number(line, "at"));
  const Json tokens = TRY(line.get("tokens"));
  const std::vector<Json> lengths = TRY(tokens.items());
  for (const Json& length : lengths) {
    request.lengths.push_back(static_cast<int>(TRY(length.as_int_in(1, kMaxTokens))));
  }
  if (request.lengths.empty()) return fail(ErrorCode::kInvalidArgument, "'tokens' is empty");
  const std::string priority = TRY(line.string_or("priority", "standard"));
  request.priority = TRY(priority_named(priority));
  request.tenant = TRY(line.string_or("tenant", ""));
  const double timeout = TRY(line.double_or("timeout_ms", 0));
  if (timeout > 0) request.timeout = timeout / 1000;
  return request;
}

// Calls `use` with each line that is not empty; errors name the line.
template <class Use>
Result<> for_each_line(const std::filesystem::path& path, const Use& use) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::kNotFound, "{}: cannot be opened", path.string());
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    const JsonDocument document = TRY(JsonDocument::parse(line, where));
    if (Result<> used = use(document.root()); !used) return used.map_error(within(where));
  }
  return {};
}

}  // namespace

Lengths::Lengths(double mean, double spread, int longest, uint32_t seed)
    : random_(seed), distribution_(std::log(mean) - spread * spread / 2, spread), longest_(longest) {}

int Lengths::next() { return std::clamp(static_cast<int>(std::lround(distribution_(random_))), 3, longest_); }

std::vector<int> Lengths::list(int count) {
  std::vector<int> lengths(count);
  for (int& length : lengths) length = next();
  return lengths;
}

Result<SimLoad> make_scenario(const std::string& name, const ScenarioOptions& options) {
  SimLoad load;
  load.seconds = options.seconds;
  const uint32_t seed = options.seed + 10;
  if (name == "queries") {
    load.requests = queries(options, Priority::kInteractive, 1);
  } else if (name == "bursts") {
    load.requests = queries(options, Priority::kInteractive, kBurst);
  } else if (name == "closed") {
    load.clients.push_back(query_client(options, Priority::kInteractive, seed));
  } else if (name == "import") {
    load.clients.push_back(lists(options, Priority::kBulk, seed));
  } else if (name == "mixed") {
    load.requests = queries(options, Priority::kInteractive, 1);
    load.clients.push_back(lists(options, Priority::kBulk, seed));
  } else if (name == "untagged") {
    load.requests = queries(options, Priority::kStandard, 1);
    load.clients.push_back(lists(options, Priority::kStandard, seed));
  } else if (name == "tenants") {
    load.clients.push_back(lists(options, Priority::kStandard, seed));
    load.clients.push_back(query_client(options, Priority::kStandard, seed + 1));
  } else {
    return fail(ErrorCode::kInvalidArgument,
                "scenario '{}' is none of queries, bursts, closed, import, mixed, untagged, tenants", name);
  }
  return load;
}

Result<SimLoad> read_trace(const std::filesystem::path& path) {
  SimLoad load;
  const Result<> all_read = for_each_line(path, [&](const Json& line) -> Result<> {
    load.requests.push_back(TRY(parse_request(line)));
    const double before = load.requests.size() < 2 ? 0 : load.requests[load.requests.size() - 2].at;
    if (load.requests.back().at >= before) return {};
    return fail(ErrorCode::kInvalidArgument, "'at' is {}, before the {} of the line above", load.requests.back().at, before);
  });
  TRY_VOID(all_read);
  load.seconds = load.requests.empty() ? 0 : load.requests.back().at;
  return load;
}

Result<CostCoefficients> fit_costs(const std::filesystem::path& path) {
  CostModel model;
  const Result<> all_read = for_each_line(path, [&](const Json& line) -> Result<> {
    const double tokens = TRY(number(line, "tokens"));
    const double squares = TRY(number(line, "squares"));
    const double seconds = TRY(number(line, "seconds"));
    model.observe(std::llround(tokens), std::llround(squares), seconds);
    return {};
  });
  TRY_VOID(all_read);
  return model.coefficients();
}

}  // namespace inlay
