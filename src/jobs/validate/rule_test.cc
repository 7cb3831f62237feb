#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "jobs/validate/report.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Distribution with_p99(double p99, uint64_t count = 1000) { return {.count = count, .p99 = p99}; }

RetrievalGroup with_recall(const std::string& name, uint64_t queries, double reference, double candidate) {
  return {name, {.queries = queries, .recall_5 = reference}, {.queries = queries, .recall_5 = candidate}, 1};
}

TEST(ValidationRule, PassesAtItsBounds) {
  ValidationReport report;
  report.distance = with_p99(0.05);
  report.retrieval = {with_recall("all", 400, 1.0, 0.995)};
  EXPECT_TRUE(judge(report).passed);
  EXPECT_TRUE(judge(report).reasons.empty());
}

TEST(ValidationRule, FailsAboveEachBoundAndSaysWhy) {
  ValidationReport report;
  report.distance = with_p99(0.0501);
  report.retrieval = {with_recall("all", 400, 0.90, 0.89)};
  const Verdict verdict = judge(report);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("0.05010"), HasSubstr("1.11 % lost")));
}

TEST(ValidationRule, FailsOnWhatIsNoNumber) {
  ValidationReport report;
  report.distance = with_p99(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(judge(report).passed);
}

TEST(ValidationRule, SeesALanguageThatTheWholeHides) {
  ValidationReport report;
  report.distance = with_p99(0.01, 5000);
  report.languages = {{"en", with_p99(0.01, 4900)}, {"yo", with_p99(0.2, kLeastTextsJudged)}};
  report.retrieval = {with_recall("all", 5000, 0.9, 0.9), with_recall("en", 4800, 0.9, 0.91),
                      with_recall("yo", kLeastQueriesJudged, 0.8, 0.7)};
  EXPECT_THAT(judge(report).reasons, ElementsAre(HasSubstr("in yo"), HasSubstr("in yo")));
}

TEST(ValidationRule, DoesNotJudgeALanguageByAFewTexts) {
  ValidationReport report;
  report.distance = with_p99(0.01, 5000);
  report.languages = {{"en", with_p99(0.01, 4901)}, {"yo", with_p99(0.2, kLeastTextsJudged - 1)}};
  report.retrieval = {with_recall("all", 5000, 0.9, 0.9), with_recall("en", 4801, 0.9, 0.9),
                      with_recall("yo", kLeastQueriesJudged - 1, 0.8, 0.7)};
  EXPECT_TRUE(judge(report).passed);
}

TEST(ValidationRule, FailsOnFailedTextsAndOnOtherBits) {
  ValidationReport report;
  report.failed = 2;
  report.fault = "not finite";
  report.bits = {48, 1};
  EXPECT_THAT(judge(report).reasons, ElementsAre(HasSubstr("2 texts have no vector: not finite"), HasSubstr("1 of 48")));
}

}  // namespace
}  // namespace inlay
