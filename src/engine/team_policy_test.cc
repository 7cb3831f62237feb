#include "engine/team_policy.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

Batch batch_of(int tokens) {
  Batch batch;
  if (tokens > 0) batch.items.resize(1);
  batch.tokens = tokens;
  return batch;
}

TEST(TeamPolicy, SharesSmallBatchesThatAreWorthTheWaking) {
  const TeamPolicy policy;
  EXPECT_TRUE(policy.is_candidate(batch_of(12), 2e-3));
  EXPECT_FALSE(policy.is_candidate(batch_of(12), 1e-4));
  EXPECT_FALSE(policy.is_candidate(batch_of(200), 40e-3));
  EXPECT_FALSE(policy.is_candidate(batch_of(0), 1));
  EXPECT_FALSE(TeamPolicy(0).is_candidate(batch_of(12), 2e-3));
}

TEST(TeamPolicy, GivesUpTeamsWhileBatchesHaveCompanyAndTakesThemUpAgain) {
  TeamPolicy policy;
  EXPECT_TRUE(policy.wants_team());
  for (int i = 0; i < 20; ++i) policy.note(true);
  EXPECT_FALSE(policy.wants_team());
  for (int i = 0; i < 20; ++i) policy.note(false);
  EXPECT_TRUE(policy.wants_team());
}

// Poisson arrivals at 200 a second during batches of 2 ms: 33 % have company, and a team still answers sooner.
TEST(TeamPolicy, KeepsTeamsUnderAModerateLoad) {
  TeamPolicy policy;
  for (int i = 0; i < 1000; ++i) {
    policy.note(i % 3 == 0);
    EXPECT_TRUE(policy.wants_team()) << i;
  }
}

}  // namespace
}  // namespace inlay
