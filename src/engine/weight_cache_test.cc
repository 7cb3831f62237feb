// The cache of packed weights: never another vector, never stale.
#include <thread>

#include "base/checksum.h"
#include "engine/engine_testing.h"
#include "weights/safetensors.h"

namespace inlay {
namespace {

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16, Precision::kInt8,
                                     Precision::kInt4};

std::vector<std::vector<float>> vectors_of(const Engine& engine) {
  std::mt19937 random(3);
  std::vector<std::vector<float>> vectors;
  for (Result<std::vector<float>>& vector : engine.embed(random_texts(20, 40, engine.spec().encoder.vocab_size, random))) {
    vectors.push_back(must(std::move(vector)));
  }
  return vectors;
}

uint64_t cached_bytes(const Engine& engine) {
  const EngineMemory memory = engine.memory();
  return memory.linear.cached + memory.tables.cached;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  return files;
}

// Longer than the clock of any file system takes to move on.
void let_files_settle() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }

class WeightCache : public testing::TestWithParam<const Kernels*> {
 protected:
  Engine load(const std::filesystem::path& model, Precision dtype, const std::filesystem::path& cache) const {
    return must(Engine::load({.model = model, .dtype = dtype, .threads = 2, .kernels = GetParam(), .weight_cache = cache}));
  }
};

TEST_P(WeightCache, VectorsHaveTheSameBits) {
  for (const char* model : {"bert-tiny", "bert-cls-dense", "bert-sharded"}) {
    for (const Precision dtype : kPrecisions) {
      const TestFolder cache;
      const Engine without = load(golden_model(model), dtype, {});
      const Engine first = load(golden_model(model), dtype, cache.path());
      const Engine second = load(golden_model(model), dtype, cache.path());
      EXPECT_EQ(cached_bytes(without), 0U);
      EXPECT_EQ(cached_bytes(first), 0U);
      EXPECT_EQ(second.weight_bytes(), without.weight_bytes());
      // All but the dense modules of bert-cls-dense, which are not cached.
      const EngineMemory plain = without.memory();
      const EngineMemory mapped = second.memory();
      EXPECT_EQ(mapped.linear.own + mapped.linear.cached, plain.linear.own);
      EXPECT_LT(mapped.linear.own, model == std::string_view("bert-cls-dense") ? mapped.linear.cached : 1U);
      EXPECT_EQ(mapped.tables.cached, plain.tables.own);
      EXPECT_EQ(mapped.tables.own, 0U);
      const std::vector<std::vector<float>> expected = vectors_of(without);
      EXPECT_EQ(vectors_of(first), expected);
      EXPECT_EQ(vectors_of(second), expected) << model << " " << precision_name(dtype);
      EXPECT_EQ(files_in(cache.path()).size(), 1U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTable, WeightCache, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);

Engine load_int8(const std::filesystem::path& model, const std::filesystem::path& cache) {
  return must(Engine::load({.model = model, .dtype = Precision::kInt8, .threads = 1, .weight_cache = cache}));
}

// Same name, size, header and time of modification: a copy that keeps times, as archives and image builders make them.
TEST(WeightCacheFile, AChangedModelIsPackedAgain) {
  const TestFolder cache;
  const TestFolder model;
  std::filesystem::copy(golden_model("bert-tiny"), model.path(), std::filesystem::copy_options::recursive);
  const std::filesystem::path weights = model.path() / "model.safetensors";
  let_files_settle();
  const std::vector<std::vector<float>> before = vectors_of(load_int8(model.path(), cache.path()));
  EXPECT_GT(cached_bytes(load_int8(model.path(), cache.path())), 0U);

  const std::filesystem::file_time_type time = std::filesystem::last_write_time(weights);
  std::string bytes = must(read_file(weights, 1 << 26));
  const SafetensorsHeader header = must(read_safetensors_header(std::as_bytes(std::span(bytes)), "model.safetensors"));
  // The sign of every number.
  for (size_t at = header.tensors.front().begin + 3; at < bytes.size(); at += 4)
    bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
  model.write("model.safetensors", bytes);
  std::filesystem::last_write_time(weights, time);
  const Engine changed = load_int8(model.path(), cache.path());
  EXPECT_EQ(cached_bytes(changed), 0U);
  EXPECT_EQ(vectors_of(changed), vectors_of(load_int8(model.path(), {})));
  EXPECT_NE(vectors_of(changed), before);

  // Changed a moment ago: not written, since a change within the same tick of the clock would go unseen.
  EXPECT_EQ(cached_bytes(load_int8(model.path(), cache.path())), 0U);
  let_files_settle();
  (void)load_int8(model.path(), cache.path());
  EXPECT_GT(cached_bytes(load_int8(model.path(), cache.path())), 0U);
  EXPECT_EQ(files_in(cache.path()).size(), 1U) << "the newer cache takes the place of the older one";
}

TEST(WeightCacheFile, ADamagedCacheIsMadeAgain) {
  const TestFolder cache;
  const std::filesystem::path model = golden_model("bert-tiny");
  const std::vector<std::vector<float>> expected = vectors_of(load_int8(model, cache.path()));
  const std::filesystem::path file = files_in(cache.path()).front();
  const std::string good = must(read_file(file, 1 << 26));
  std::string flipped = good;
  flipped[20] = static_cast<char>(flipped[20] ^ 1);
  std::string damaged = good;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  for (const std::string& bad : {flipped, damaged, good.substr(0, good.size() - 64), good.substr(0, 7), std::string()}) {
    cache.write(file.filename().string(), bad);
    const Engine engine = load_int8(model, cache.path());
    EXPECT_EQ(cached_bytes(engine), 0U) << bad.size();
    EXPECT_EQ(vectors_of(engine), expected);
    EXPECT_TRUE(must(read_file(file, 1 << 26)) == good) << "written anew, byte for byte";
  }
}

// One table's cache under the name of another's.
TEST(WeightCacheFile, AnotherTablesCacheIsNotUsed) {
  const TestFolder cache;
  const std::filesystem::path model = golden_model("bert-tiny");
  (void)must(Engine::load(
      {.model = model, .dtype = Precision::kInt8, .kernels = *available_kernels().begin(), .weight_cache = cache.path()}));
  const std::filesystem::path scalar = files_in(cache.path()).front();
  (void)load_int8(model, cache.path());
  if (files_in(cache.path()).size() < 2) GTEST_SKIP() << "this CPU has one table";
  for (const std::filesystem::path& file : files_in(cache.path())) {
    if (file != scalar) std::filesystem::copy(scalar, file, std::filesystem::copy_options::overwrite_existing);
  }
  const Engine engine = load_int8(model, cache.path());
  EXPECT_EQ(cached_bytes(engine), 0U);
  EXPECT_EQ(vectors_of(engine), vectors_of(load_int8(model, {})));
}

TEST(WeightCacheFile, AFolderThatCannotBeWrittenIsNoError) {
  const TestFolder folder;
  folder.write("file", "");
  const Engine engine = load_int8(golden_model("bert-tiny"), folder.path() / "file");
  EXPECT_EQ(vectors_of(engine), vectors_of(load_int8(golden_model("bert-tiny"), {})));
}

// What weights pack into is part of the file's meaning. If this fails, raise kPackedVersion in model/weight_packer.cc, so that
// no older cache is used, and then write the new numbers here.
TEST(WeightCacheFile, PackedBytesAreThoseOfThisVersion) {
  std::vector<uint64_t> sums;
  for (const Precision dtype : kPrecisions) {
    const TestFolder cache;
    (void)must(Engine::load({.model = golden_model("bert-tiny"),
                             .dtype = dtype,
                             .kernels = *available_kernels().begin(),
                             .weight_cache = cache.path()}));
    const std::string bytes = must(read_file(files_in(cache.path()).front(), 1 << 26));
    const SafetensorsHeader header = must(read_safetensors_header(std::as_bytes(std::span(bytes)), "cache"));
    Checksum sum;
    sum.add(std::as_bytes(std::span(bytes)).subspan(header.tensors.front().begin));
    sums.push_back(sum.value());
  }
  EXPECT_EQ(sums, (std::vector<uint64_t>{2854850027065457224U, 213348957461981336U, 1628276377639369107U, 6995194142927421432U,
                                         15854480308829653760U}));
}

}  // namespace
}  // namespace inlay
