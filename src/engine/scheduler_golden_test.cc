// The scheduler on real engines: its vectors have the bits of Engine::embed, whatever runs beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>
#include <random>

#include "base/json.h"
#include "engine/scheduler_testing.h"

namespace inlay {
namespace {

using Vectors = std::vector<Result<std::vector<float>>>;

constexpr uint32_t kSeed = 5;

Engine load(const std::string& folder, int threads) {
  EngineOptions options;
  options.model = "tests/golden/" + folder + "/model";
  options.threads = threads;
  Result<Engine> engine = Engine::load(options);
  EXPECT_TRUE(engine) << engine.error().message;
  return *std::move(engine);
}

// The ids of the golden texts, and random ones of all lengths up to `longest`.
std::vector<TokenizedText> texts_for(const Engine& engine, const std::string& folder, int random_texts, int longest) {
  std::vector<TokenizedText> texts;
  const JsonDocument document = JsonDocument::read("tests/golden/" + folder + "/golden.json", 1 << 20).value();
  const std::vector<Json> runs = document.root().get("runs")->items().value();
  const std::vector<Json> rows = runs.front().get("ids")->items().value();
  for (const Json& row : rows) {
    const std::vector<Json> numbers = row.items().value();
    std::vector<int64_t> ids;
    for (const Json& number : numbers) ids.push_back(number.as_int().value());
    texts.push_back(engine.from_ids(ids).value());
  }
  std::mt19937 random(kSeed);
  for (int i = 0; i < random_texts; ++i) {
    std::vector<int64_t> ids(1 + random() % static_cast<uint32_t>(longest));
    for (int64_t& id : ids) id = random() % static_cast<uint32_t>(engine.spec().encoder.vocab_size);
    texts.push_back(engine.from_ids(ids).value());
  }
  return texts;
}

bool is_same(const Result<std::vector<float>>& a, const Result<std::vector<float>>& b) {
  return a && b && a->size() == b->size() && std::memcmp(a->data(), b->data(), a->size() * sizeof(float)) == 0;
}

// One client: requests of random texts, classes and tenants, each compared with what embed() gave.
void run_client(Scheduler& scheduler, const std::vector<TokenizedText>& texts, const Vectors& wanted, uint32_t seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    WorkRequest request;
    std::vector<size_t> chosen(random() % 4 == 0 ? 40 : 1 + random() % 3);
    for (size_t& index : chosen) {
      index = random() % texts.size();
      request.texts.push_back(texts[index]);
    }
    request.priority = static_cast<Priority>(random() % 3);
    request.tenant = std::string(1, static_cast<char>('a' + seed % 3));
    const WorkResult result = send(scheduler, std::move(request)).get();
    ASSERT_EQ(result.vectors.size(), chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i)
      ASSERT_TRUE(is_same(result.vectors[i], wanted[chosen[i]])) << seed << " " << round;
  }
}

TEST(SchedulerOnEngine, GivesTheBitsOfEmbedToManyClients) {
  for (const int threads : {1, 3}) {
    const Engine engine = load("bert-tiny", threads);
    const std::vector<TokenizedText> texts = texts_for(engine, "bert-tiny", 60, 64);
    const Vectors wanted = engine.embed(texts);
    Scheduler scheduler(engine, {});
    std::vector<std::thread> clients;
    for (uint32_t seed = 1; seed <= 5; ++seed) clients.emplace_back([&, seed] { run_client(scheduler, texts, wanted, seed); });
    for (std::thread& client : clients) client.join();
  }
}

// One lane, an import that keeps it busy, and queries: they run between the blocks of the import's batches.
TEST(SchedulerOnEngine, InterruptsAnImportAndChangesNoBit) {
  const Engine engine = load("bert-long", 1);
  const std::vector<TokenizedText> texts = texts_for(engine, "bert-long", 40, 700);
  const Vectors wanted = engine.embed(texts);
  SchedulerOptions options;
  options.min_share[2] = 0;
  Scheduler scheduler(engine, options);
  WorkRequest import;
  import.priority = Priority::kBulk;
  for (int i = 0; i < 4; ++i) import.texts.insert(import.texts.end(), texts.begin(), texts.end());
  std::future<WorkResult> imported = send(scheduler, std::move(import));
  size_t queries = 0;
  while (imported.wait_for(std::chrono::microseconds(300)) != std::future_status::ready) {
    WorkRequest query;
    query.texts.push_back(texts[queries % texts.size()]);
    query.priority = Priority::kInteractive;
    const WorkResult result = send(scheduler, std::move(query)).get();
    ASSERT_TRUE(is_same(result.vectors[0], wanted[queries % texts.size()]));
    ++queries;
  }
  const WorkResult result = imported.get();
  for (size_t i = 0; i < result.vectors.size(); ++i) ASSERT_TRUE(is_same(result.vectors[i], wanted[i % texts.size()])) << i;
  const SchedulerMetrics metrics = scheduler.metrics();
  EXPECT_GT(metrics.interruptions, 0U);
  EXPECT_EQ(metrics.embedded, result.vectors.size() + queries);
}

TEST(SchedulerOnEngine, GivesTheBitsOfEmbedFromATeam) {
  const Engine engine = load("bert-cls-dense", 2);
  const std::vector<TokenizedText> texts = texts_for(engine, "bert-cls-dense", 10, 40);
  const Vectors wanted = engine.embed(texts);
  uint64_t teams = 0;
  for (size_t i = 0; i < texts.size(); i += 3) {
    // Its lanes have seen no batch yet, so that it does not know how little a team gains on so small a model.
    Scheduler fresh(engine, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    WorkRequest request;
    request.texts.push_back(texts[i]);
    ASSERT_TRUE(is_same(send(fresh, std::move(request)).get().vectors[0], wanted[i])) << i;
    teams += fresh.metrics().team_batches;
  }
  EXPECT_GT(teams, 0U);
}

// Many tiny texts broke buffers that were sized by tokens elsewhere.
TEST(SchedulerOnEngine, CaseH18TakesManyTinyTexts) {
  const Engine engine = load("bert-tiny", 2);
  Scheduler scheduler(engine, {});
  const TokenizedText tiny = engine.from_ids(std::vector<int64_t>{7}).value();
  WorkRequest request;
  request.texts.assign(300, tiny);
  const WorkResult result = send(scheduler, std::move(request)).get();
  ASSERT_EQ(result.vectors.size(), 300U);
  for (const Result<std::vector<float>>& vector : result.vectors) {
    ASSERT_TRUE(is_same(vector, result.vectors.front()));
    for (const float value : *vector) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(SchedulerOnEngine, RefusesIdsThatTheModelDoesNotHave) {
  const Engine engine = load("bert-tiny", 1);
  Scheduler scheduler(engine, {});
  TokenizedText wrong;
  wrong.ids = {1 << 30};
  WorkRequest request;
  request.texts = {wrong, engine.from_ids(std::vector<int64_t>{2, 3}).value()};
  const WorkResult result = send(scheduler, std::move(request)).get();
  ASSERT_FALSE(result.vectors[0]);
  EXPECT_EQ(result.vectors[0].error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(result.vectors[1]);
}

}  // namespace
}  // namespace inlay
