// Runs the Batcher of the scheduler against arrivals, with predicted instead of real computing, so that policies are compared
// in seconds.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/batcher.h"
#include "engine/cost_model.h"

namespace inlay {

// All times are in seconds.
struct SimRequest {
  double at = 0;  // since the start
  Priority priority = Priority::kStandard;
  std::string tenant = {};
  std::vector<int> lengths = {};  // tokens of each text
  std::optional<double> timeout = {};
};

// A client that keeps so many requests under way: it sends the next when one is answered.
struct SimClient {
  Priority priority = Priority::kStandard;
  std::string tenant = {};
  int connections = 1;
  std::function<std::vector<int>()> next_lengths = {};
};

struct SimLoad {
  std::vector<SimRequest> requests;  // by time
  std::vector<SimClient> clients;
  double seconds = 60;  // no request is sent later; what was sent is finished
};

struct SimMachine {
  int lanes = 2;
  CostCoefficients cost;  // of a batch on one lane
  double block = 1e-3;    // a running batch looks for urgent work this often
  bool interrupts = true;
  bool one_class = false;        // the batcher takes all requests as standard ones of one tenant; the report tells them apart
  int team_tokens = 128;         // a lone batch up to this size is shared by idle lanes; 0: never
  double team_efficiency = 0.6;  // what each further lane adds to the speed of the first
  double request_overhead = 0;   // of every request beside the scheduler, without load on the lanes
};

struct SimReport {
  struct ClassReport {
    std::vector<double> latencies;  // of answered requests, sorted
    int64_t texts = 0;
    int64_t tokens = 0;
    int64_t dropped = 0;  // texts
    double percentile(double share) const;
    double mean() const;
  };
  std::array<ClassReport, kPriorities> classes;
  double seconds = 0;  // until the last answer
  int64_t batches = 0;
  int64_t batch_tokens = 0;
  int64_t batch_texts = 0;
  int64_t interruptions = 0;
  double busy = 0;  // share of the lanes' time
};

SimReport simulate(const SimLoad& load, const SimMachine& machine, const BatchLimits& limits);

}  // namespace inlay
