// From the vectors of two models to the figures of a report.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/output_type.h"
#include "jobs/validate/report.h"
#include "jobs/validate/sample.h"

namespace inlay {

// The texts that both models embed: the compared texts, then for each file of pairs its queries and the distinct texts that
// answer them. Holds views into the samples, which must outlive it.
class Workload {
 public:
  struct Prompts {
    std::optional<std::string> query;
    std::optional<std::string> passage;
  };
  Workload(const Sample& texts, const Sample& pairs, const Prompts& prompts);

  std::span<const PromptedText> all() const { return all_; }
  // Where a text of the workload came from: the first of its rows if it answers several queries.
  const SampledRow& row(size_t text) const { return *rows_[text]; }
  const std::string& file(size_t text) const;

  // Pairs of one file are a task of their own: its queries are ranked against its texts. Positions are those of all().
  struct Corpus {
    RetrievalTask task;
    size_t first_query = 0;
    size_t first_document = 0;
  };
  const std::vector<Corpus>& corpora() const { return corpora_; }

  // The texts whose vectors are compared one by one, [begin, end) of all(): the texts given, or else all of the pairs.
  size_t compared_begin() const { return 0; }
  size_t compared_end() const { return pairs_begin_ > 0 ? pairs_begin_ : all_.size(); }

 private:
  void add(std::string_view text, const std::optional<std::string>& prompt, const SampledRow& row);
  void add_corpus(size_t source, const Prompts& prompts);

  const Sample& texts_;
  const Sample& pairs_;
  std::vector<PromptedText> all_;
  std::vector<const SampledRow*> rows_;
  std::vector<Corpus> corpora_;
  size_t pairs_begin_ = 0;
};

// Numbers by name, and names by how many numbers they have: of more names than a reader looks at, the rare ones are put
// together.
class NamedValues {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  // By name; at most 24 names, the last of them then "others".
  std::map<std::string, std::vector<double>> take();

 private:
  std::map<std::string, std::vector<double>> values_;
};

// Adds distances, groups, histogram and the worst texts.
void compare_vectors(const Workload& workload, const ModelRun& reference, const ModelRun& candidate, size_t worst,
                     ValidationReport& report);

// Scores of a corpus by cosine of the run's vectors, as they were made.
ScoreDocuments cosine_scores(const Workload::Corpus& corpus, std::span<const float> unit_vectors, size_t dimensions);
// The run's vectors, each of length 1.
std::vector<float> unit_vectors(const ModelRun& run);

// Adds retrieval by language. Nothing where there are no pairs.
void compare_retrieval(const Workload& workload, const ModelRun& reference, const ModelRun& candidate,
                       ValidationReport& report);

// All of it, with both models' figures, judged by the report's rule.
void compare_runs(const Workload& workload, const ModelRun& reference, const ModelRun& candidate, size_t worst,
                  ValidationReport& report);

// Adds what retrieval loses where vectors are stored in each of the types; ranges are those of all vectors of the run.
void measure_outputs(const Workload& workload, const ModelRun& candidate, std::span<const OutputType> types,
                     ValidationReport& report);

}  // namespace inlay
