// What `inlay validate` finds, and the rule that it is judged by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/validate/model_run.h"
#include "jobs/validate/quality.h"
#include "jobs/validate/retrieval.h"

namespace inlay {

// Cosine distances of some of the texts: of a language, or of a range of lengths.
struct DistanceGroup {
  std::string name;
  Distribution distance;
};

// Retrieval of some of the pairs: of a language, or of all.
struct RetrievalGroup {
  std::string name;
  RetrievalScores reference;
  RetrievalScores candidate;
  double overlap_10 = 0;  // share of the reference's ten nearest that the candidate finds too, on average

  double recall_5_loss() const { return relative_loss(reference.recall_5, candidate.recall_5); }
};

// A text and how far its vector is off.
struct WorstText {
  double distance = 0;
  std::string text;  // its beginning
  std::string file;
  uint64_t line = 0;
  std::string id;  // JSON text; may be empty
  std::string language;
  int tokens = 0;
};

// What is left of retrieval where the candidate's vectors are stored in fewer bits.
struct OutputLoss {
  std::string type;          // "int8", ...
  uint64_t bytes = 0;        // of a vector
  RetrievalScores plain;     // ranked by the stored codes of queries and documents
  RetrievalScores rescored;  // the first 10 x `oversampling` of those, ranked again by float queries and stored documents
  int oversampling = 0;
};

struct ValidationRule {
  double max_p99 = 0.05;          // cosine distance
  double max_recall_loss = 0.01;  // of Recall@5, as a share of the reference's
};

struct Verdict {
  bool passed = false;
  std::vector<std::string> reasons;  // why not; empty if passed
};

// Another precision of the same model that was tried.
struct PrecisionTrial {
  std::string dtype;
  Distribution distance;
  std::optional<double> recall_5_loss;
  double texts_per_second = 0;
  Verdict verdict;
};

// What an earlier report said of another precision.
struct CostPoint {
  std::string dtype;
  double texts_per_second = 0;
  double p99 = 0;
};

struct ValidationReport {
  std::string created;  // "2026-01-31T12:00:00Z"
  uint64_t seed = 0;
  uint64_t texts = 0;
  uint64_t pairs = 0;
  uint64_t unusable_rows = 0;
  ModelFigures reference;
  ModelFigures candidate;
  uint64_t failed = 0;               // texts of which one of the models has no vector; they count nowhere else
  std::optional<std::string> fault;  // why the first of them has none
  Distribution distance;
  DistanceHistogram histogram;
  std::vector<DistanceGroup> languages;   // by name
  std::vector<DistanceGroup> lengths;     // by length
  std::vector<WorstText> worst;           // the farthest first
  std::vector<RetrievalGroup> retrieval;  // "all", then languages by name; empty without pairs
  BitIdentity bits;                       // of the candidate
  std::vector<OutputLoss> outputs;
  ValidationRule rule;
  Verdict verdict;
  std::vector<CostPoint> others;          // of the reports that lie beside the candidate's weights, for the page alone
  std::vector<PrecisionTrial> fallbacks;  // in the order in which they were tried

  const RetrievalGroup* all_pairs() const { return retrieval.empty() ? nullptr : &retrieval.front(); }
};

// Fewer say nothing about a hundredth of them.
constexpr uint64_t kLeastTextsJudged = 100;
constexpr uint64_t kLeastQueriesJudged = 200;

// Holds the rule over all texts and pairs, and over each language of which there are enough (the constants above), so that a
// rare one cannot fail unseen. A text without a vector and a vector that depends on its batch fail as well. Pure.
Verdict judge(const ValidationReport& report);

std::string validation_json(const ValidationReport& report);   // one line
std::string validation_table(const ValidationReport& report);  // for people
// One page that needs nothing else.
std::string validation_html(const ValidationReport& report);

}  // namespace inlay
