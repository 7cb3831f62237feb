#include "scheduler_sim.h"

#include <gtest/gtest.h>

#include <fstream>

#include "scheduler_sim_load.h"

namespace inlay {
namespace {

constexpr CostCoefficients kCost = {.a = 1e-3, .b = 1e-4, .c = 0};

// A single lane and queries that never meet: latency is the cost of a batch.
TEST(SchedulerSim, AddsUpTheCostOfLoneQueries) {
  SimLoad load;
  for (int i = 0; i < 100; ++i) load.requests.push_back({.at = i * 0.1, .lengths = {20}});
  const SimReport report = simulate(load, {.lanes = 1, .cost = kCost}, {});
  const SimReport::ClassReport& standard = report.classes[1];
  ASSERT_EQ(standard.latencies.size(), 100U);
  EXPECT_NEAR(standard.percentile(0.5), 3e-3, 1e-9);
  EXPECT_NEAR(standard.mean(), 3e-3, 1e-9);
  EXPECT_NEAR(standard.percentile(0.99), 3e-3, 1e-9);
  EXPECT_EQ(report.batches, 100);
}

// M/D/1: Poisson arrivals, one server without batching. Mean wait is rho / (2 (1 - rho)) services.
TEST(SchedulerSim, AgreesWithQueueingTheory) {
  SimLoad load = make_scenario("queries", {.seconds = 4000, .rate = 50, .query_tokens = 100, .max_tokens = 100}).value();
  for (SimRequest& request : load.requests) request.lengths = {90};
  const SimReport report = simulate(load, {.lanes = 1, .cost = kCost}, {.max_batch_requests = 1});
  double sum = 0;
  for (const double latency : report.classes[0].latencies) sum += latency;
  const double mean = sum / static_cast<double>(report.classes[0].latencies.size());
  EXPECT_NEAR(mean, 0.01 + 0.01 * 0.5 / (2 * 0.5), 0.0005);
}

TEST(SchedulerSim, SharesALoneBatchAmongIdleLanes) {
  SimLoad load;
  load.requests.push_back({.at = 0, .lengths = {90}});
  const SimReport report = simulate(load, {.lanes = 3, .cost = kCost, .team_efficiency = 0.5}, {.lanes = 3});
  EXPECT_NEAR(report.classes[1].percentile(1), 0.01 / 2, 1e-9);
}

// As many lone queries as there are lanes: teams would run one after the other what lanes run at once.
TEST(SchedulerSim, LetsTwoClientsHaveALaneEach) {
  const auto next = [] { return std::vector<int>{20}; };
  SimLoad load = {.requests = {}, .clients = {{.connections = 2, .next_lengths = next}}, .seconds = 10};
  const SimMachine machine = {.lanes = 2, .cost = kCost, .team_efficiency = 0.4};
  const SimReport shared = simulate(load, machine, {.lanes = 2});
  EXPECT_NEAR(shared.classes[1].percentile(0.5), 3e-3, 1e-6);  // the cost of a batch of one
  load.clients[0].connections = 1;
  EXPECT_NEAR(simulate(load, machine, {.lanes = 2}).classes[1].percentile(0.5), 3e-3 / 1.4, 1e-6);
}

TEST(SchedulerSim, ShowsThatInterruptionsKeepQueriesFastBesideAnImport) {
  const SimLoad load = make_scenario("mixed", {.seconds = 60, .rate = 20}).value();
  const SimMachine machine = {.lanes = 2, .cost = {.a = 3e-4, .b = 2e-4, .c = 1e-7}};
  SimMachine without = machine;
  without.interrupts = false;
  const SimReport report = simulate(load, machine, {.lanes = 2});
  const SimLoad again = make_scenario("mixed", {.seconds = 60, .rate = 20}).value();
  const SimReport uninterrupted = simulate(again, without, {.lanes = 2});
  EXPECT_GT(report.interruptions, 100);
  EXPECT_EQ(uninterrupted.interruptions, 0);
  EXPECT_LT(report.classes[0].percentile(0.99), 0.015);
  EXPECT_GT(uninterrupted.classes[0].percentile(0.99), 0.03);
  EXPECT_GT(static_cast<double>(report.classes[2].tokens), 0.95 * static_cast<double>(uninterrupted.classes[2].tokens));
}

TEST(SchedulerSim, GivesTwoTenantsAtFullSpeedHalfEach) {
  SimLoad load = make_scenario("tenants", {.seconds = 60, .connections = 64}).value();
  load.clients[0].priority = Priority::kStandard;
  load.clients[1].priority = Priority::kStandard;
  const std::function<std::vector<int>()> next = load.clients[1].next_lengths;
  int64_t query_tokens = 0;
  load.clients[1].next_lengths = [&] {
    const std::vector<int> lengths = next();
    query_tokens += lengths[0];
    return lengths;
  };
  const SimReport report = simulate(load, {.lanes = 2, .cost = kCost}, {.lanes = 2});
  const double share = static_cast<double>(query_tokens) / static_cast<double>(report.classes[1].tokens);
  EXPECT_GT(share, 0.45);
  EXPECT_LT(share, 0.55);
}

class TraceFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = testing::TempDir() + "scheduler_sim_trace.jsonl";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(TraceFile, IsReadFieldByField) {
  const Result<SimLoad> load =
      read_trace(write("{\"at\": 0.5, \"tokens\": [3, 4]}\n\n"
                       "{\"at\": 1, \"tokens\": [7], \"priority\": \"bulk\", \"tenant\": \"a\", \"timeout_ms\": 50}\n"));
  ASSERT_TRUE(load) << load.error().message;
  ASSERT_EQ(load->requests.size(), 2U);
  EXPECT_EQ(load->requests[0].lengths, (std::vector<int>{3, 4}));
  EXPECT_EQ(load->requests[0].priority, Priority::kStandard);
  EXPECT_EQ(load->requests[1].priority, Priority::kBulk);
  EXPECT_EQ(load->requests[1].tenant, "a");
  EXPECT_DOUBLE_EQ(load->requests[1].timeout.value(), 0.05);
}

TEST_F(TraceFile, NamesTheLineThatIsWrong) {
  for (const char* wrong : {"{\"at\": 1}", "{\"at\": 1, \"tokens\": []}", "{\"at\": 1, \"tokens\": [0]}", "x",
                            "{\"at\": 0, \"tokens\": [1]}", "{\"at\": 1, \"tokens\": [1], \"priority\": \"urgent\"}"}) {
    const Result<SimLoad> load = read_trace(write(std::string("{\"at\": 1, \"tokens\": [1]}\n") + wrong + "\n"));
    ASSERT_FALSE(load) << wrong;
    EXPECT_NE(load.error().message.find(".jsonl:2"), std::string::npos) << load.error().message;
  }
}

TEST_F(TraceFile, GivesTheCostsOfBatches) {
  std::string lines;
  for (int i = 0; i < 500; ++i) {
    const int length = 5 + i % 100;
    const int texts = 1 + i % 3;
    const int64_t squares = int64_t{1} * length * length * texts;
    lines += fmt::format("{{\"tokens\": {}, \"squares\": {}, \"seconds\": {}}}\n", length * texts, squares,
                         5e-4 + 2e-4 * length * texts + 3e-7 * static_cast<double>(squares));
  }
  const Result<CostCoefficients> cost = fit_costs(write(lines));
  ASSERT_TRUE(cost) << cost.error().message;
  EXPECT_NEAR(cost->b, 2e-4, 4e-6);
}

}  // namespace
}  // namespace inlay
