#include "jobs/validate/comparison.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace inlay {
namespace {

constexpr size_t kMostNames = 24;
constexpr size_t kWorstTextBytes = 200;
// Ends of the ranges of lengths, in tokens.
constexpr int kLengthEnds[] = {16, 32, 64, 128, 256, 512, 1024, 2048};

std::string length_name(int tokens) {
  int begin = 1;
  for (const int end : kLengthEnds) {
    // Zeros in front keep the order of names that of lengths.
    if (tokens <= end) return fmt::format("{:04}-{:04}", begin, end);
    begin = end + 1;
  }
  return fmt::format("{:04}+", begin);
}

// "0017-0032" is "17-32".
std::string without_zeros(const std::string& name) {
  std::string result;
  bool is_leading = true;
  for (const char symbol : name) {
    if (is_leading && symbol == '0') continue;
    is_leading = symbol == '-';
    result += symbol;
  }
  return result;
}

std::vector<DistanceGroup> groups_of(NamedValues& values) {
  std::vector<DistanceGroup> groups;
  for (auto& [name, list] : values.take()) groups.push_back({name, distribution_of(std::move(list))});
  return groups;
}

WorstText worst_text(const Workload& workload, size_t text, double distance, int tokens) {
  const SampledRow& row = workload.row(text);
  return {.distance = distance,
          .text = std::string(cut_text(workload.all()[text].text, kWorstTextBytes)),
          .file = workload.file(text),
          .line = row.line,
          .id = row.id,
          .language = row.language,
          .tokens = tokens};
}

// What a language's queries came to.
struct LanguagePlaces {
  std::vector<uint32_t> reference;
  std::vector<uint32_t> candidate;
  double overlap = 0;

  void add(uint32_t reference_place, uint32_t candidate_place, double overlap_share) {
    reference.push_back(reference_place);
    candidate.push_back(candidate_place);
    overlap += overlap_share;
  }
  RetrievalGroup group(const std::string& name) const {
    return {name, scores_of(reference), scores_of(candidate), overlap / static_cast<double>(reference.size())};
  }
};

void count_failures(const ModelRun& reference, const ModelRun& candidate, ValidationReport& report) {
  for (size_t text = 0; text < reference.failed.size(); ++text) {
    report.failed += reference.failed[text] != 0 || candidate.failed[text] != 0 ? 1 : 0;
  }
  report.fault = candidate.fault ? candidate.fault : reference.fault;
}

}  // namespace

Workload::Workload(const Sample& texts, const Sample& pairs, const Prompts& prompts) : texts_(texts), pairs_(pairs) {
  for (const SampledRow& row : texts.rows) add(row.text, std::nullopt, row);
  pairs_begin_ = all_.size();
  for (size_t source = 0; source < pairs.sources.size(); ++source) add_corpus(source, prompts);
}

void Workload::add(std::string_view text, const std::optional<std::string>& prompt, const SampledRow& row) {
  all_.push_back({text, prompt});
  rows_.push_back(&row);
}

void Workload::add_corpus(size_t source, const Prompts& prompts) {
  Corpus corpus;
  corpus.first_query = all_.size();
  std::unordered_map<std::string_view, uint32_t> known;
  std::vector<const SampledRow*> documents;
  for (const SampledRow& row : pairs_.rows) {
    if (row.source != source) continue;
    add(row.query, prompts.query, row);
    const auto [entry, is_new] = known.try_emplace(row.text, static_cast<uint32_t>(documents.size()));
    if (is_new) documents.push_back(&row);
    corpus.task.answers.push_back(entry->second);
  }
  corpus.first_document = all_.size();
  corpus.task.documents = static_cast<uint32_t>(documents.size());
  for (const SampledRow* row : documents) add(row->text, prompts.passage, *row);
  corpora_.push_back(std::move(corpus));
}

const std::string& Workload::file(size_t text) const {
  const Sample& sample = text < pairs_begin_ ? texts_ : pairs_;
  return sample.sources[rows_[text]->source].path;
}

std::map<std::string, std::vector<double>> NamedValues::take() {
  while (values_.size() > kMostNames) {
    std::map<std::string, std::vector<double>>::iterator rarest = values_.end();
    for (std::map<std::string, std::vector<double>>::iterator it = values_.begin(); it != values_.end(); ++it) {
      if (it->first == "others") continue;
      if (rarest == values_.end() || it->second.size() < rarest->second.size()) rarest = it;
    }
    std::vector<double> moved = std::move(rarest->second);
    values_.erase(rarest);
    std::vector<double>& others = values_["others"];
    others.insert(others.end(), moved.begin(), moved.end());
  }
  return std::move(values_);
}

void compare_vectors(const Workload& workload, const ModelRun& reference, const ModelRun& candidate, size_t worst,
                     ValidationReport& report) {
  NamedValues languages;
  NamedValues lengths;
  std::vector<std::pair<double, size_t>> distances;
  for (size_t text = workload.compared_begin(); text < workload.compared_end(); ++text) {
    if (reference.failed[text] != 0 || candidate.failed[text] != 0) continue;
    const double distance = cosine_distance(reference.vector(text), candidate.vector(text));
    distances.emplace_back(distance, text);
    report.histogram.add(distance);
    languages.add(workload.row(text).language, distance);
    lengths.add(length_name(reference.tokens[text]), distance);
  }
  std::vector<double> values;
  for (const auto& [distance, text] : distances) values.push_back(distance);
  report.distance = distribution_of(std::move(values));
  report.languages = groups_of(languages);
  report.lengths = groups_of(lengths);
  for (DistanceGroup& group : report.lengths) group.name = without_zeros(group.name);
  const std::ptrdiff_t listed = static_cast<std::ptrdiff_t>(std::min(worst, distances.size()));
  std::partial_sort(distances.begin(), distances.begin() + listed, distances.end(),
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (std::ptrdiff_t i = 0; i < listed; ++i) {
    const auto& [distance, text] = distances[static_cast<size_t>(i)];
    report.worst.push_back(worst_text(workload, text, distance, reference.tokens[text]));
  }
}

std::vector<float> unit_vectors(const ModelRun& run) {
  std::vector<float> vectors = run.vectors;
  normalize_rows(vectors, static_cast<size_t>(run.figures.dimensions));
  return vectors;
}

ScoreDocuments cosine_scores(const Workload::Corpus& corpus, std::span<const float> unit_vectors, size_t dimensions) {
  return product_scores(unit_vectors.subspan(corpus.first_query * dimensions, corpus.task.answers.size() * dimensions),
                        unit_vectors.subspan(corpus.first_document * dimensions, corpus.task.documents * dimensions),
                        dimensions);
}

void compare_retrieval(const Workload& workload, const ModelRun& reference, const ModelRun& candidate,
                       ValidationReport& report) {
  if (workload.corpora().empty()) return;
  const size_t dimensions = static_cast<size_t>(reference.figures.dimensions);
  const std::vector<float> reference_units = unit_vectors(reference);
  const std::vector<float> candidate_units = unit_vectors(candidate);
  LanguagePlaces all;
  std::map<std::string, LanguagePlaces> languages;
  for (const Workload::Corpus& corpus : workload.corpora()) {
    const Ranking a = rank_documents(corpus.task, cosine_scores(corpus, reference_units, dimensions));
    const Ranking b = rank_documents(corpus.task, cosine_scores(corpus, candidate_units, dimensions));
    const std::vector<double> shares = overlaps(a, b);
    for (size_t query = 0; query < a.places.size(); ++query) {
      all.add(a.places[query], b.places[query], shares[query]);
      languages[workload.row(corpus.first_query + query).language].add(a.places[query], b.places[query], shares[query]);
    }
  }
  report.retrieval.push_back(all.group("all"));
  if (languages.size() > kMostNames) return;
  for (const auto& [name, places] : languages) report.retrieval.push_back(places.group(name));
}

void compare_runs(const Workload& workload, const ModelRun& reference, const ModelRun& candidate, size_t worst,
                  ValidationReport& report) {
  report.reference = reference.figures;
  report.candidate = candidate.figures;
  report.bits = candidate.bits;
  count_failures(reference, candidate, report);
  compare_vectors(workload, reference, candidate, worst, report);
  compare_retrieval(workload, reference, candidate, report);
  report.verdict = judge(report);
}

}  // namespace inlay
