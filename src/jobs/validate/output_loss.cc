// Retrieval with document vectors in fewer bits. `plain` is what an index sees that holds codes alone: it compares codes, or
// counts equal bits, of queries and documents alike. `rescored` takes the best of those and ranks them again by the float query
// and what the stored document stands for, which needs nothing stored beside it.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "engine/output_type.h"
#include "jobs/validate/comparison.h"

namespace inlay {
namespace {

constexpr int kOversampling = 4;
constexpr uint32_t kWanted = 10;
// More than two scores differ by, so that rescored documents come before all others.
constexpr float kBehind = 4;

// All vectors of a run in another type.
struct Stored {
  OutputType type = OutputType::kFloat;
  size_t dimensions = 0;
  size_t bytes = 0;
  std::vector<std::byte> codes = {};   // [texts, bytes]
  std::vector<float> code_units = {};  // the codes as numbers, of length 1; empty for bits
  std::vector<float> units = {};       // what they stand for, of length 1
};

std::vector<float> decode_all(const Stored& stored, const OutputRanges* ranges, size_t texts) {
  std::vector<float> numbers(texts * stored.dimensions);
  for (size_t i = 0; i < texts; ++i) {
    decode_vector(std::span(stored.codes).subspan(i * stored.bytes, stored.bytes), stored.type, ranges,
                  std::span(numbers).subspan(i * stored.dimensions, stored.dimensions));
  }
  normalize_rows(numbers, stored.dimensions);
  return numbers;
}

Stored store(const std::vector<float>& vectors, size_t dimensions, OutputType type) {
  Stored stored = {.type = type, .dimensions = dimensions, .bytes = output_bytes(type, dimensions)};
  OutputRanges ranges;
  const size_t texts = vectors.size() / dimensions;
  for (size_t i = 0; i < texts; ++i) ranges.add(std::span(vectors).subspan(i * dimensions, dimensions));
  stored.codes.resize(texts * stored.bytes);
  for (size_t i = 0; i < texts; ++i) {
    encode_vector(std::span(vectors).subspan(i * dimensions, dimensions), type, &ranges,
                  std::span(stored.codes).subspan(i * stored.bytes, stored.bytes));
  }
  stored.units = decode_all(stored, &ranges, texts);
  // Without ranges a code stands for itself.
  if (!is_packed(type)) stored.code_units = decode_all(stored, nullptr, texts);
  return stored;
}

// The share of equal bits, spread from -1 to 1 like a cosine. Bits behind the last number are equal in all.
float bit_similarity(std::span<const std::byte> a, std::span<const std::byte> b, size_t dimensions) {
  int different = 0;
  for (size_t i = 0; i < a.size(); ++i) different += std::popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return 1 - 2 * static_cast<float>(different) / static_cast<float>(dimensions);
}

ScoreDocuments plain_scores(const Workload::Corpus& corpus, const Stored& stored) {
  if (!is_packed(stored.type)) return cosine_scores(corpus, stored.code_units, stored.dimensions);
  return [&corpus, &stored](uint32_t query, std::span<float> scores) {
    const std::span<const std::byte> codes(stored.codes);
    const std::span<const std::byte> own = codes.subspan((corpus.first_query + query) * stored.bytes, stored.bytes);
    for (size_t document = 0; document < scores.size(); ++document) {
      scores[document] = bit_similarity(own, codes.subspan((corpus.first_document + document) * stored.bytes, stored.bytes),
                                        stored.dimensions);
    }
  };
}

ScoreDocuments rescored_scores(const Workload::Corpus& corpus, const Stored& stored, std::span<const float> float_units) {
  return [&corpus, &stored, float_units, plain = plain_scores(corpus, stored)](uint32_t query, std::span<float> scores) {
    plain(query, scores);
    const size_t taken = std::min<size_t>(kOversampling * kWanted, scores.size());
    std::vector<uint32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(taken), order.end(),
                      [scores](uint32_t a, uint32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    for (float& score : scores) score -= kBehind;
    const std::span<const float> vector =
        float_units.subspan((corpus.first_query + query) * stored.dimensions, stored.dimensions);
    for (size_t i = 0; i < taken; ++i) {
      const size_t begin = (corpus.first_document + order[i]) * stored.dimensions;
      scores[order[i]] = static_cast<float>(dot_product(vector, std::span(stored.units).subspan(begin, stored.dimensions)));
    }
  };
}

}  // namespace

void measure_outputs(const Workload& workload, const ModelRun& candidate, std::span<const OutputType> types,
                     ValidationReport& report) {
  const size_t dimensions = static_cast<size_t>(candidate.figures.dimensions);
  const std::vector<float> float_units = unit_vectors(candidate);
  for (const OutputType type : types) {
    const Stored stored = store(candidate.vectors, dimensions, type);
    std::vector<uint32_t> plain;
    std::vector<uint32_t> rescored;
    for (const Workload::Corpus& corpus : workload.corpora()) {
      const Ranking first = rank_documents(corpus.task, plain_scores(corpus, stored));
      const Ranking second = rank_documents(corpus.task, rescored_scores(corpus, stored, float_units));
      plain.insert(plain.end(), first.places.begin(), first.places.end());
      rescored.insert(rescored.end(), second.places.begin(), second.places.end());
    }
    report.outputs.push_back({.type = std::string(output_type_name(type)),
                              .bytes = stored.bytes,
                              .plain = scores_of(plain),
                              .rescored = scores_of(rescored),
                              .oversampling = kOversampling});
  }
}

}  // namespace inlay
