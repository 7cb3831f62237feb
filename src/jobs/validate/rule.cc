#include "jobs/validate/report.h"

namespace inlay {
namespace {

void judge_distance(const Distribution& distance, const std::string& of, double most, Verdict& verdict) {
  // Written so that a NaN fails.
  if (distance.p99 <= most) return;
  verdict.reasons.push_back(
      fmt::format("P99 cosine distance of {} is {:.5f}, at most {:g} is allowed", of, distance.p99, most));
}

void judge_recall(const RetrievalGroup& group, const std::string& of, double most, Verdict& verdict) {
  if (group.recall_5_loss() <= most) return;
  verdict.reasons.push_back(fmt::format("Recall@5 of {} fell from {:.4f} to {:.4f}: {:.2f} % lost, at most {:g} % is allowed",
                                        of, group.reference.recall_5, group.candidate.recall_5, 100 * group.recall_5_loss(),
                                        100 * most));
}

}  // namespace

Verdict judge(const ValidationReport& report) {
  Verdict verdict;
  if (report.failed > 0) {
    verdict.reasons.push_back(fmt::format("{} texts have no vector: {}", report.failed, report.fault.value_or("unknown")));
  }
  judge_distance(report.distance, fmt::format("all {} texts", report.distance.count), report.rule.max_p99, verdict);
  for (const DistanceGroup& group : report.languages) {
    if (report.languages.size() < 2 || group.distance.count < kLeastTextsJudged) continue;
    judge_distance(group.distance, fmt::format("{} texts in {}", group.distance.count, group.name), report.rule.max_p99,
                   verdict);
  }
  for (const RetrievalGroup& group : report.retrieval) {
    const bool is_all = &group == report.all_pairs();
    if (!is_all && (report.retrieval.size() < 3 || group.reference.queries < kLeastQueriesJudged)) continue;
    const uint64_t queries = group.reference.queries;
    judge_recall(group, is_all ? fmt::format("all {} queries", queries) : fmt::format("{} queries in {}", queries, group.name),
                 report.rule.max_recall_loss, verdict);
  }
  if (report.bits.different > 0) {
    verdict.reasons.push_back(
        fmt::format("{} of {} vectors have other bits alone than in a batch", report.bits.different, report.bits.texts));
  }
  verdict.passed = verdict.reasons.empty();
  return verdict;
}

}  // namespace inlay
