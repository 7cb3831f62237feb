#include "jobs/validate/retrieval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace inlay {
namespace {

using testing::ElementsAre;

TEST(Retrieval, ScoresFollowTheirDefinitions) {
  const std::vector<uint32_t> places = {1, 2, 5, 6, 11};
  const RetrievalScores scores = scores_of(places);
  EXPECT_EQ(scores.queries, 5U);
  EXPECT_NEAR(scores.recall_1, 0.2, 1e-12);
  EXPECT_NEAR(scores.recall_5, 0.6, 1e-12);
  EXPECT_NEAR(scores.ndcg_10, (1 + 1 / std::log2(3) + 1 / std::log2(6) + 1 / std::log2(7)) / 5, 1e-12);
  EXPECT_NEAR(scores.mrr, (1 + 0.5 + 0.2 + 1.0 / 6 + 1.0 / 11) / 5, 1e-12);
  EXPECT_EQ(scores_of({}).recall_5, 0);
}

TEST(Retrieval, LossIsAShareOfTheReference) {
  EXPECT_NEAR(relative_loss(0.8, 0.76), 0.05, 1e-12);
  EXPECT_LT(relative_loss(0.5, 0.6), 0);
  EXPECT_EQ(relative_loss(0, 0), 0);
}

TEST(Retrieval, AnEqualScoreOfAnotherDocumentComesFirst) {
  const RetrievalTask task = {.documents = 4, .answers = {2, 0}};
  const std::vector<std::vector<float>> scores = {{0.1F, 0.9F, 0.9F, 0.3F}, {0.7F, 0.2F, 0.1F, 0.5F}};
  const Ranking ranking = rank_documents(task, [&scores](uint32_t query, std::span<float> out) {
    std::copy(scores[query].begin(), scores[query].end(), out.begin());
  });
  EXPECT_THAT(ranking.places, ElementsAre(2U, 1U));
  EXPECT_THAT(ranking.nearest, ElementsAre(1U, 2U, 3U, 0U, 0U, 3U, 1U, 2U));
}

TEST(Retrieval, OverlapIsTheShareOfCommonDocuments) {
  const Ranking a = {.places = {1, 1}, .nearest = {0, 1, 2, 3, 4, 5}};
  const Ranking b = {.places = {1, 1}, .nearest = {2, 0, 9, 5, 4, 3}};
  EXPECT_THAT(overlaps(a, b), ElementsAre(testing::DoubleNear(2.0 / 3, 1e-12), 1.0));
}

}  // namespace
}  // namespace inlay
