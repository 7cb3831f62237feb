#include "jobs/validate/retrieval.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "jobs/validate/quality.h"

namespace inlay {

RetrievalScores scores_of(std::span<const uint32_t> places) {
  RetrievalScores sums;
  for (const uint32_t place : places) {
    sums.recall_1 += place <= 1 ? 1 : 0;
    sums.recall_5 += place <= 5 ? 1 : 0;
    sums.ndcg_10 += place <= 10 ? 1 / std::log2(1.0 + place) : 0;
    sums.mrr += 1.0 / place;
  }
  sums.queries = places.size();
  const double count = std::max<double>(1, static_cast<double>(places.size()));
  for (double* figure : {&sums.recall_1, &sums.recall_5, &sums.ndcg_10, &sums.mrr}) *figure /= count;
  return sums;
}

double relative_loss(double reference, double candidate) { return reference > 0 ? (reference - candidate) / reference : 0; }

Ranking rank_documents(const RetrievalTask& task, const ScoreDocuments& score) {
  const size_t kept = std::min(kOverlapPlaces, task.documents);
  Ranking ranking;
  std::vector<float> scores(task.documents);
  std::vector<uint32_t> order(task.documents);
  for (uint32_t query = 0; query < task.answers.size(); ++query) {
    score(query, scores);
    const float own = scores[task.answers[query]];
    // The answer itself is one of those that score as well.
    ranking.places.push_back(
        static_cast<uint32_t>(std::count_if(scores.begin(), scores.end(), [own](float other) { return other >= own; })));
    std::iota(order.begin(), order.end(), 0U);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&scores](uint32_t a, uint32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    ranking.nearest.insert(ranking.nearest.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  return ranking;
}

ScoreDocuments product_scores(std::span<const float> queries, std::span<const float> documents, size_t dimensions) {
  return [=](uint32_t query, std::span<float> scores) {
    const std::span<const float> vector = queries.subspan(query * dimensions, dimensions);
    for (size_t document = 0; document < scores.size(); ++document) {
      scores[document] = static_cast<float>(dot_product(vector, documents.subspan(document * dimensions, dimensions)));
    }
  };
}

std::vector<double> overlaps(const Ranking& a, const Ranking& b) {
  INLAY_CHECK(a.nearest.size() == b.nearest.size() && a.places.size() == b.places.size(), "rankings of two tasks");
  std::vector<double> shares;
  const size_t kept = a.places.empty() ? 0 : a.nearest.size() / a.places.size();
  for (size_t begin = 0; begin < a.nearest.size(); begin += kept) {
    const std::span<const uint32_t> theirs(b.nearest.data() + begin, kept);
    size_t common = 0;
    for (const uint32_t document : std::span<const uint32_t>(a.nearest.data() + begin, kept)) {
      common += std::find(theirs.begin(), theirs.end(), document) != theirs.end() ? 1 : 0;
    }
    shares.push_back(static_cast<double>(common) / static_cast<double>(kept));
  }
  return shares;
}

}  // namespace inlay
