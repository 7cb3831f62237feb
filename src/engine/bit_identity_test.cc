// A vector has the same bits whether its text is sent alone, in any batch, in any order, from any lane or split over a team.
#include <algorithm>
#include <numeric>

#include "engine/engine_testing.h"

namespace inlay {
namespace {

constexpr unsigned kSeed = 20261130;
constexpr int kTexts = 500;
#ifdef __SANITIZE_ADDRESS__
constexpr int kBatchings = 4;  // Few batchings use memory as many do, and the release build compares the bits.
#else
constexpr int kBatchings = 20;
#endif

class BitIdentity : public testing::TestWithParam<const Kernels*> {
 protected:
  Engine load(Precision dtype, int threads, std::string_view name = "bert-tiny") {
    return must(Engine::load({.model = golden_model(name), .dtype = dtype, .threads = threads, .kernels = GetParam()}));
  }

  // Each text alone, one after another on one thread.
  static std::vector<std::vector<float>> alone(const Engine& engine, std::span<const TokenizedText> texts) {
    std::vector<std::vector<float>> vectors;
    const EngineLanePtr lane = engine.make_lane();
    for (const TokenizedText& text : texts) {
      const TokenizedText* member = &text;
      Result<> status;
      vectors.emplace_back(engine.dimensions());
      engine.embed_batch(*lane, {&member, 1}, vectors.back().data(), {&status, 1});
      EXPECT_TRUE(status.has_value());
    }
    return vectors;
  }

  static bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }

  // Random batches of the texts in random order on one lane.
  static void expect_same_in_batches(const Engine& engine, std::span<const TokenizedText> texts,
                                     const std::vector<std::vector<float>>& expected, std::mt19937& random) {
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const EngineLanePtr lane = engine.make_lane();
    for (size_t at = 0; at < order.size();) {
      std::vector<const TokenizedText*> members;
      std::vector<size_t> places;
      int room = static_cast<int>(1 + random() % static_cast<unsigned>(engine.max_batch_tokens()));
      for (; at < order.size() && (members.empty() || static_cast<int>(texts[order[at]].ids.size()) <= room); ++at) {
        members.push_back(&texts[order[at]]);
        places.push_back(order[at]);
        room -= static_cast<int>(texts[order[at]].ids.size());
      }
      std::vector<float> out(members.size() * engine.dimensions());
      std::vector<Result<>> status(members.size());
      engine.embed_batch(*lane, members, out.data(), status);
      for (size_t i = 0; i < members.size(); ++i) {
        ASSERT_TRUE(
            same_bits({out.data() + i * engine.dimensions(), static_cast<size_t>(engine.dimensions())}, expected[places[i]]))
            << "seed " << kSeed << ", text " << places[i];
      }
    }
  }

  static void expect_same_together(const Engine& engine, std::span<const TokenizedText> texts,
                                   std::span<const std::vector<float>> expected) {
    const std::vector<Result<std::vector<float>>> vectors = engine.embed(texts);
    for (size_t i = 0; i < texts.size(); ++i)
      ASSERT_TRUE(same_bits(*vectors[i], expected[i])) << "seed " << kSeed << ", text " << i;
  }

  void expect_same_bits(Precision dtype) {
    std::mt19937 random(kSeed);
    const Engine one = load(dtype, 1);
    // The table in use gets the whole test, the others a short one.
    const bool is_whole = GetParam() == &kernels();
    const std::vector<TokenizedText> texts =
        random_texts(is_whole ? kTexts : kTexts / 10, one.max_length(), one.spec().encoder.vocab_size, random);
    const std::vector<std::vector<float>> expected = alone(one, texts);
    for (int i = 0; i < (is_whole ? kBatchings : 2); ++i) expect_same_in_batches(one, texts, expected, random);
    for (const int threads : {1, 2, 3}) {
      const Engine engine = load(dtype, threads);
      expect_same_together(engine, texts, expected);
      // One or a few texts at a time: a team shares the layers.
      for (size_t i = 0; i + 2 < 30; i += 3) {
        expect_same_together(engine, std::span(texts).subspan(i, 1 + i % 3), std::span(expected).subspan(i, 1 + i % 3));
      }
    }
  }
};

TEST_P(BitIdentity, Float32) { expect_same_bits(Precision::kFloat32); }
TEST_P(BitIdentity, BFloat16) { expect_same_bits(Precision::kBFloat16); }
TEST_P(BitIdentity, Float16) { expect_same_bits(Precision::kFloat16); }
TEST_P(BitIdentity, Int8) { expect_same_bits(Precision::kInt8); }
TEST_P(BitIdentity, Int4) { expect_same_bits(Precision::kInt4); }

// A scale belongs to one token row: an outlier in the batch must not coarsen its neighbours.
TEST_P(BitIdentity, CaseH13Int8DoesNotDependOnNeighbours) {
  std::mt19937 random(kSeed);
  const Engine engine = load(Precision::kInt8, 1, "bert-long");
  std::vector<TokenizedText> texts = random_texts(4, 6, engine.spec().encoder.vocab_size, random);
  texts.push_back(random_texts(1, 1, engine.spec().encoder.vocab_size, random).front());
  texts.back().ids.resize(500, texts.front().ids.front());
  const std::vector<std::vector<float>> expected = alone(engine, texts);
  expect_same_together(engine, texts, expected);
  expect_same_together(engine, std::span(texts).first(4), std::span(expected).first(4));
}

// A short text beside one of a length at which masks, blocks or windows of attention end: no NaN, and the bits it has alone.
TEST_P(BitIdentity, CaseH11LengthsAroundBlockEndsAreFiniteAndTheSameAsAlone) {
  std::mt19937 random(kSeed);
  for (const Precision dtype :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16, Precision::kInt8, Precision::kInt4}) {
    const Engine engine = load(dtype, 2, "bert-long");
    for (const size_t length : {127U, 128U, 129U, 224U, 255U, 256U, 257U, 288U, 320U, 511U, 512U, 513U, 640U}) {
      std::vector<TokenizedText> texts = random_texts(1, 12, engine.spec().encoder.vocab_size, random);
      texts.push_back({});
      texts.back().ids.resize(length);
      for (int32_t& id : texts.back().ids) id = static_cast<int32_t>(random() % engine.spec().encoder.vocab_size);
      const std::vector<std::vector<float>> expected = alone(engine, texts);
      for (const std::vector<float>& vector : expected) {
        ASSERT_TRUE(std::all_of(vector.begin(), vector.end(), [](float value) { return std::isfinite(value); })) << length;
      }
      expect_same_in_batches(engine, texts, expected, random);
      expect_same_together(engine, texts, expected);
    }
  }
}

// Windows, causal order, biases by distance and experts too: in batches, and split over a team. The table in use gets every
// precision, the others float32.
TEST_P(BitIdentity, EveryArchitecture) {
  std::mt19937 random(kSeed);
  for (const std::string& name : golden_names()) {
    SCOPED_TRACE(name);
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kInt8, Precision::kInt4}) {
      if (dtype != Precision::kFloat32 && GetParam() != &kernels()) continue;
      const Engine one = load(dtype, 1, name);
      const std::vector<TokenizedText> texts =
          random_texts(6, std::min(100, one.max_length()), one.spec().encoder.vocab_size, random);
      const std::vector<std::vector<float>> expected = alone(one, texts);
      expect_same_in_batches(one, texts, expected, random);
      const Engine team = load(dtype, 3, name);
      expect_same_together(team, texts, expected);
      expect_same_together(team, std::span(texts).first(1), std::span(expected).first(1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTable, BitIdentity, testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         table_name);

}  // namespace
}  // namespace inlay
