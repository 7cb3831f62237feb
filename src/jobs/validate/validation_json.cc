#include "base/json_writer.h"
#include "jobs/validate/report.h"

namespace inlay {
namespace {

void put_optional(JsonWriter& json, const std::optional<double>& value) {
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

void put(JsonWriter& json, const Distribution& distance) {
  json.begin_object().key("texts").value(distance.count).key("mean").value(distance.mean).key("p50").value(distance.p50);
  json.key("p95").value(distance.p95).key("p99").value(distance.p99).key("max").value(distance.max).end_object();
}

void put(JsonWriter& json, const RetrievalScores& scores) {
  json.begin_object().key("queries").value(scores.queries).key("recall_1").value(scores.recall_1);
  json.key("recall_5").value(scores.recall_5).key("ndcg_10").value(scores.ndcg_10).key("mrr").value(scores.mrr).end_object();
}

void put(JsonWriter& json, const ModelFigures& figures) {
  json.begin_object().key("model").value(figures.folder).key("dtype").value(figures.dtype).key("isa").value(figures.isa);
  json.key("threads").value(figures.threads).key("dimensions").value(figures.dimensions);
  json.key("file_bytes").value(figures.file_bytes).key("weight_bytes").value(figures.weight_bytes);
  json.key("memory_bytes").value(figures.memory_bytes).key("load_seconds").value(figures.load_seconds);
  json.key("seconds").value(figures.seconds).key("tokens").value(figures.tokens);
  json.key("texts_per_s").value(figures.texts_per_second).key("tokens_per_s").value(figures.tokens_per_second);
  json.key("single_p50_ms").value(1e3 * figures.single_p50_seconds).end_object();
}

void put(JsonWriter& json, const std::vector<DistanceGroup>& groups) {
  json.begin_object();
  for (const DistanceGroup& group : groups) put(json.key(group.name), group.distance);
  json.end_object();
}

void put(JsonWriter& json, const Verdict& verdict) {
  json.begin_object().key("passed").value(verdict.passed).key("reasons").begin_array();
  for (const std::string& reason : verdict.reasons) json.value(reason);
  json.end_array().end_object();
}

void put(JsonWriter& json, const WorstText& worst) {
  json.begin_object().key("distance").value(worst.distance).key("file").value(worst.file).key("line").value(worst.line);
  json.key("id");
  if (worst.id.empty()) {
    json.null();
  } else {
    json.raw(worst.id);
  }
  json.key("language").value(worst.language).key("tokens").value(worst.tokens).key("text").value(worst.text).end_object();
}

void put(JsonWriter& json, const DistanceHistogram& histogram) {
  json.begin_object().key("edges").begin_array();
  for (int i = 0; i + 1 < DistanceHistogram::kBuckets; ++i) json.value(DistanceHistogram::edge(i));
  json.end_array().key("counts").begin_array();
  for (const uint64_t count : histogram.counts) json.value(count);
  json.end_array().end_object();
}

void put(JsonWriter& json, const RetrievalGroup& group) {
  put(json.begin_object().key("reference"), group.reference);
  put(json.key("candidate"), group.candidate);
  json.key("recall_1_loss").value(relative_loss(group.reference.recall_1, group.candidate.recall_1));
  json.key("recall_5_loss").value(group.recall_5_loss());
  json.key("ndcg_10_loss").value(relative_loss(group.reference.ndcg_10, group.candidate.ndcg_10));
  json.key("mrr_loss").value(relative_loss(group.reference.mrr, group.candidate.mrr));
  json.key("overlap_10").value(group.overlap_10).end_object();
}

void put(JsonWriter& json, const OutputLoss& output) {
  json.begin_object().key("output_type").value(output.type).key("vector_bytes").value(output.bytes);
  put(json.key("plain"), output.plain);
  put(json.key("rescored"), output.rescored);
  json.key("oversampling").value(output.oversampling).end_object();
}

void put(JsonWriter& json, const PrecisionTrial& trial) {
  put(json.begin_object().key("dtype").value(trial.dtype).key("distance"), trial.distance);
  put_optional(json.key("recall_5_loss"), trial.recall_5_loss);
  put(json.key("texts_per_s").value(trial.texts_per_second).key("verdict"), trial.verdict);
  json.end_object();
}

template <class T>
void put_list(JsonWriter& json, std::string_view name, const std::vector<T>& list) {
  json.key(name).begin_array();
  for (const T& item : list) put(json, item);
  json.end_array();
}

}  // namespace

std::string validation_json(const ValidationReport& report) {
  JsonWriter json;
  put(json.begin_object().key("verdict"), report.verdict);
  json.key("created").value(report.created).key("rule").begin_object().key("max_p99").value(report.rule.max_p99);
  json.key("max_recall_loss").value(report.rule.max_recall_loss).end_object();
  json.key("texts").value(report.texts).key("pairs").value(report.pairs).key("seed").value(report.seed);
  json.key("unusable_rows").value(report.unusable_rows).key("failed").value(report.failed);
  put(json.key("reference"), report.reference);
  put(json.key("candidate"), report.candidate);
  put(json.key("distance"), report.distance);
  put(json.key("histogram"), report.histogram);
  put(json.key("languages"), report.languages);
  put(json.key("lengths"), report.lengths);
  json.key("retrieval").begin_object();
  for (const RetrievalGroup& group : report.retrieval) put(json.key(group.name), group);
  json.end_object().key("bit_identity").begin_object().key("texts").value(report.bits.texts);
  json.key("different").value(report.bits.different).end_object();
  put_list(json, "outputs", report.outputs);
  put_list(json, "fallbacks", report.fallbacks);
  put_list(json, "worst", report.worst);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace inlay
