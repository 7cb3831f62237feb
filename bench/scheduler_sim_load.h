// Arrivals for the simulator: synthetic ones, and traces that were recorded.
#pragma once

#include <filesystem>
#include <random>

#include "base/result.h"
#include "scheduler_sim.h"

namespace inlay {

// Token counts of texts: log-normal about a mean, within bounds.
class Lengths {
 public:
  Lengths(double mean, double spread, int longest, uint32_t seed);
  int next();
  std::vector<int> list(int count);

 private:
  std::mt19937 random_;
  std::lognormal_distribution<double> distribution_;
  int longest_;
};

struct ScenarioOptions {
  double seconds = 60;
  double rate = 20;          // queries a second
  int connections = 64;      // of clients that send queries as fast as they are answered
  int list = 32;             // documents a request of an import
  double query_tokens = 12;  // mean
  double document_tokens = 130;
  int max_tokens = 256;  // of a text
  uint32_t seed = 1;
};

// "queries": Poisson arrivals of single queries. "bursts": the same rate in bursts of 50. "closed": `connections` clients.
// "import": four connections that send lists of bulk documents. "mixed": import and queries. "untagged": mixed, but all of one
// class. "tenants": two clients at full speed, one with lists, one with queries, in one class.
Result<SimLoad> make_scenario(const std::string& name, const ScenarioOptions& options);

// A JSON object a line: {"at": seconds, "tokens": [12, 40], "priority": "bulk", "tenant": "a", "timeout_ms": 100}; the first
// two are required, the rest default to "standard", "" and none. Lines come in the order of time.
Result<SimLoad> read_trace(const std::filesystem::path& path);

// Learns from lines {"tokens": 256, "squares": 12000, "seconds": 0.05} of batches that ran.
Result<CostCoefficients> fit_costs(const std::filesystem::path& path);

}  // namespace inlay
