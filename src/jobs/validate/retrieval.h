// How well vectors find the one right answer of each query. Pure: vectors in, figures out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace inlay {

struct RetrievalScores {
  uint64_t queries = 0;
  double recall_1 = 0;  // share of the queries whose answer comes first
  double recall_5 = 0;  // or among the first five
  double ndcg_10 = 0;   // 1 / log2(1 + place) of an answer among the first ten, else 0; on average
  double mrr = 0;       // 1 / place of the answer, on average
};

// `places` counts from 1.
RetrievalScores scores_of(std::span<const uint32_t> places);

// The share of the reference's score that the candidate lost: negative if it gained, 0 if there was nothing to lose.
double relative_loss(double reference, double candidate);

// Which document answers which query. Documents of one text are one document, so that none can hide the answer behind its
// twin.
struct RetrievalTask {
  uint32_t documents = 0;
  std::vector<uint32_t> answers;  // for each query, its document
};

// Scores of every document for a query, higher is nearer.
using ScoreDocuments = std::function<void(uint32_t query, std::span<float> scores)>;
constexpr uint32_t kOverlapPlaces = 10;

struct Ranking {
  std::vector<uint32_t> places;   // for each query, the place of its answer; documents with the same score come before it
  std::vector<uint32_t> nearest;  // [queries, min(kOverlapPlaces, documents)], nearest first, equal ones by number
};
Ranking rank_documents(const RetrievalTask& task, const ScoreDocuments& score);

// Scores by the product of vectors: `queries` [queries, dimensions], `documents` [documents, dimensions]; cosines if rows have
// length 1. Both must outlive the function.
ScoreDocuments product_scores(std::span<const float> queries, std::span<const float> documents, size_t dimensions);

// For each query, the share of `a`'s nearest documents that are among `b`'s. Both of the same task.
std::vector<double> overlaps(const Ranking& a, const Ranking& b);

}  // namespace inlay
