#include "server/api/scores.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"

namespace inlay {

std::vector<float> finished_scores(std::span<const float> logits, ScoreActivation activation, bool raw) {
  std::vector<float> scores(logits.begin(), logits.end());
  if (raw || activation == ScoreActivation::kIdentity) return scores;
  if (activation == ScoreActivation::kSigmoid) {
    for (float& score : scores) score = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(score))));
    return scores;
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - top);
  for (float& score : scores) score = static_cast<float>(std::exp(score - top) / sum);
  return scores;
}

namespace {

EmbedInput pair_of(std::string_view first, std::string_view second) {
  EmbedInput input{std::string(first), {}, false};
  input.second = second;
  return input;
}

// ---- rerank ----

struct Ranked {
  size_t index = 0;
  float score = 0;
};

struct RerankOptions {
  std::optional<size_t> top;
  bool raw = false;
  bool with_texts = false;
  std::vector<std::string> texts;  // only if they are given back
};

// Best first; equal ones in the order of the request.
std::vector<Ranked> ranked(const EmbedAnswer& answer, const RerankOptions& options) {
  std::vector<Ranked> ranks;
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    ranks.push_back({i, finished_scores(answer.outputs[i].scores, answer.facts->score_activation(), options.raw)[0]});
  }
  std::stable_sort(ranks.begin(), ranks.end(), [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  if (options.top && *options.top < ranks.size()) ranks.resize(*options.top);
  return ranks;
}

HttpResponse render_tei_ranks(const EmbedAnswer& answer, const RerankOptions& options) {
  JsonWriter json;
  json.begin_array();
  for (const Ranked& rank : ranked(answer, options)) {
    json.begin_object().key("index").value(static_cast<uint64_t>(rank.index)).key("score").value(rank.score);
    if (options.with_texts) json.key("text").value(options.texts[rank.index]);
    json.end_object();
  }
  json.end_array();
  return timed_response(json, answer);
}

void write_results(JsonWriter& json, const EmbedAnswer& answer, const RerankOptions& options) {
  json.key("results").begin_array();
  for (const Ranked& rank : ranked(answer, options)) {
    json.begin_object().key("index").value(static_cast<uint64_t>(rank.index)).key("relevance_score").value(rank.score);
    if (options.with_texts) {
      json.key("document").begin_object().key("text").value(options.texts[rank.index]).end_object();
    }
    json.end_object();
  }
  json.end_array();
}

void write_cohere_meta(JsonWriter& json, std::string_view version) {
  json.key("meta").begin_object().key("api_version").begin_object().key("version").value(version).end_object();
  json.key("billed_units").begin_object().key("search_units").value(1).end_object().end_object();
}

void write_usage(JsonWriter& json, const EmbedAnswer& answer) {
  json.key("usage").begin_object().key("prompt_tokens").value(answer.total_tokens);
  json.key("total_tokens").value(answer.total_tokens).end_object();
}

HttpResponse render_ranks_v1(const EmbedAnswer& answer, const RerankOptions& options) {
  JsonWriter json;
  json.begin_object().key("id").value("rerank-" + answer.id).key("object").value("list").key("model").value(answer.model);
  write_usage(json, answer);
  write_results(json, answer, options);
  write_cohere_meta(json, "1");
  json.end_object();
  return json_response(json.take());
}

HttpResponse render_ranks_v2(const EmbedAnswer& answer, const RerankOptions& options) {
  JsonWriter json;
  json.begin_object().key("id").value("rerank-" + answer.id);
  write_results(json, answer, options);
  write_cohere_meta(json, "2");
  json.end_object();
  return json_response(json.take());
}

// A document is a string, or an object whose `text` counts (with `title` before it, where there is one).
Result<std::string> read_document(const Json& document) {
  if (document.is_string()) return std::string(TRY(document.as_string()));
  const Json text = TRY(required(document, "text"));
  const std::optional<std::string> title = TRY(optional_string(document, "title"));
  std::string whole = title ? *title + " " : std::string();
  whole += TRY(text.as_string());
  return whole;
}

Result<std::vector<std::string>> read_documents(const Json& body, std::string_view name) {
  const Json value = TRY(required(body, name));
  std::vector<std::string> documents;
  for (const Json& item : TRY(value.items())) documents.push_back(TRY(read_document(item)));
  if (documents.empty()) return fail(ErrorCode::kInvalidArgument, "`{}` cannot be empty", name);
  return documents;
}

// The query with each document.
Result<EmbedRequest> read_pairs(const Json& body, const std::vector<std::string>& documents) {
  EmbedRequest request;
  request.output = OutputKind::kScores;
  request.ranks = true;
  const Json query_value = TRY(required(body, "query"));
  const std::string_view query = TRY(query_value.as_string());
  if (query.empty()) return fail(ErrorCode::kInvalidArgument, "`query` cannot be empty");
  for (const std::string& document : documents) request.inputs.push_back(pair_of(query, document));
  request.model = TRY(body.string_or("model", ""));
  TRY_VOID(read_priority_and_timeout(body, request));
  TRY_VOID(read_truncate(body, request));
  return request;
}

Result<std::optional<size_t>> read_top(const Json& body) {
  const std::optional<int64_t> top = TRY(optional_int(body, "top_n"));
  if (top && *top < 0) return fail(ErrorCode::kInvalidArgument, "`top_n` is {}, wanted 1 or more", *top);
  return top && *top > 0 ? std::optional<size_t>(static_cast<size_t>(*top)) : std::nullopt;
}

using RenderRanks = HttpResponse (*)(const EmbedAnswer&, const RerankOptions&);

Result<DialectCall> read_rerank(const Json& body, std::string_view documents_key, RenderRanks render, RerankOptions options) {
  std::vector<std::string> documents = TRY(read_documents(body, documents_key));
  DialectCall call;
  call.request = TRY(read_pairs(body, documents));
  if (options.with_texts) options.texts = std::move(documents);
  call.render = [render, options = std::move(options)](const EmbedAnswer& answer) { return render(answer, options); };
  return call;
}

// ---- classes ----

// Labels by score, best first, as an array of {score, label}.
void write_classes(JsonWriter& json, const EmbedAnswer& answer, size_t item, bool raw) {
  const std::vector<float> scores = finished_scores(answer.outputs[item].scores, answer.facts->probability, raw);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  json.begin_array();
  for (const size_t label : order) {
    json.begin_object().key("score").value(scores[label]).key("label").value(answer.facts->labels[label]).end_object();
  }
  json.end_array();
}

HttpResponse render_predict(const EmbedAnswer& answer, bool raw, bool is_batch) {
  JsonWriter json;
  if (is_batch) json.begin_array();
  for (size_t i = 0; i < answer.outputs.size(); ++i) write_classes(json, answer, i, raw);
  if (is_batch) json.end_array();
  return timed_response(json, answer);
}

HttpResponse render_classify(const EmbedAnswer& answer, bool raw) {
  JsonWriter json;
  json.begin_object().key("object").value("classify").key("data").begin_array();
  for (size_t i = 0; i < answer.outputs.size(); ++i) write_classes(json, answer, i, raw);
  json.end_array().key("model").value(answer.model);
  write_usage(json, answer);
  json.key("id").value("classify-" + answer.id).key("created").value(static_cast<int64_t>(std::time(nullptr))).end_object();
  return json_response(json.take());
}

// "a", or ["a"], or ["a", "b"], which is a pair.
Result<EmbedInput> read_predict_item(const Json& item) {
  if (item.is_string()) {
    const std::string_view text = TRY(item.as_string());
    return EmbedInput{std::string(text), {}, false};
  }
  const std::vector<Json> parts = TRY(item.items());
  if (parts.empty() || parts.size() > 2) {
    return fail(ErrorCode::kCorrupt, "{}: found {} texts, wanted one or a pair", item.where(), parts.size());
  }
  const std::string_view first = TRY(parts[0].as_string());
  if (parts.size() == 1) return EmbedInput{std::string(first), {}, false};
  const std::string_view second = TRY(parts[1].as_string());
  return pair_of(first, second);
}

Result<> check_filled(const std::vector<EmbedInput>& inputs, std::string_view name) {
  if (inputs.empty()) return fail(ErrorCode::kInvalidArgument, "`{}` cannot be empty", name);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].text.empty()) return fail(ErrorCode::kInvalidArgument, "`{}` cannot be empty: item {} is", name, i);
  }
  return {};
}

Result<> read_score_options(const Json& body, EmbedRequest& request) {
  request.output = OutputKind::kScores;
  request.model = TRY(body.string_or("model", ""));
  TRY_VOID(read_priority_and_timeout(body, request));
  return read_truncate(body, request);
}

// ---- score ----

HttpResponse render_score(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_object().key("id").value("score-" + answer.id).key("object").value("list");
  json.key("created")
      .value(static_cast<int64_t>(std::time(nullptr)))
      .key("model")
      .value(answer.model)
      .key("data")
      .begin_array();
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    const float score = finished_scores(answer.outputs[i].scores, answer.facts->score_activation(), false)[0];
    json.begin_object().key("index").value(static_cast<uint64_t>(i)).key("object").value("score");
    json.key("score").value(score).end_object();
  }
  json.end_array();
  write_usage(json, answer);
  json.end_object();
  return json_response(json.take());
}

// A text or a list of texts, under the first of several names that is there.
Result<std::vector<EmbedInput>> read_side(const Json& body, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::optional<Json> value = body.find(name);
    if (!value) continue;
    if (value->is_string()) return read_inputs(*value, name, /*may_mix=*/false);
    return read_texts(*value, name);
  }
  return fail(ErrorCode::kCorrupt, "`{}` is missing", *names.begin());
}

}  // namespace

Result<DialectCall> parse_rerank(const Json& body) {
  if (!body.find("texts")) return parse_rerank_v1(body);
  RerankOptions options;
  options.raw = TRY(body.bool_or("raw_scores", false));
  options.with_texts = TRY(body.bool_or("return_text", false));
  return read_rerank(body, "texts", render_tei_ranks, std::move(options));
}

Result<DialectCall> parse_rerank_v1(const Json& body) {
  RerankOptions options;
  options.top = TRY(read_top(body));
  options.raw = TRY(body.bool_or("raw_scores", false));
  options.with_texts = TRY(body.bool_or("return_documents", false));
  return read_rerank(body, "documents", render_ranks_v1, std::move(options));
}

Result<DialectCall> parse_rerank_v2(const Json& body) {
  RerankOptions options;
  options.top = TRY(read_top(body));
  const std::optional<int64_t> tokens = TRY(optional_int(body, "max_tokens_per_doc"));
  DialectCall call = TRY(read_rerank(body, "documents", render_ranks_v2, std::move(options)));
  call.request.max_tokens = tokens;
  return call;
}

Result<DialectCall> parse_score(const Json& body) {
  DialectCall call;
  TRY_VOID(read_score_options(body, call.request));
  call.request.ranks = true;
  std::vector<EmbedInput> queries = TRY(read_side(body, {"text_1", "queries", "data_1"}));
  std::vector<EmbedInput> documents = TRY(read_side(body, {"text_2", "documents", "items", "data_2"}));
  if (queries.size() != 1 && queries.size() != documents.size()) {
    return fail(ErrorCode::kInvalidArgument, "found {} texts and {} to compare them with, wanted one or as many",
                queries.size(), documents.size());
  }
  for (size_t i = 0; i < documents.size(); ++i) {
    call.request.inputs.push_back(pair_of(queries[queries.size() == 1 ? 0 : i].text, documents[i].text));
  }
  call.render = render_score;
  return call;
}

Result<DialectCall> parse_predict(const Json& body) {
  DialectCall call;
  TRY_VOID(read_score_options(body, call.request));
  const bool raw = TRY(body.bool_or("raw_scores", false));
  const Json inputs = TRY(required(body, "inputs"));
  // A list of strings is one pair; a list of lists is a batch.
  bool is_batch = false;
  if (inputs.is_array()) {
    const std::vector<Json> items = TRY(inputs.items());
    is_batch = items.empty() || items[0].is_array();
    if (is_batch) {
      for (const Json& item : items) call.request.inputs.push_back(TRY(read_predict_item(item)));
    }
  }
  if (!is_batch) call.request.inputs.push_back(TRY(read_predict_item(inputs)));
  TRY_VOID(check_filled(call.request.inputs, "inputs"));
  call.render = [raw, is_batch](const EmbedAnswer& answer) { return render_predict(answer, raw, is_batch); };
  return call;
}

Result<DialectCall> parse_classify(const Json& body) {
  DialectCall call;
  TRY_VOID(read_score_options(body, call.request));
  const bool raw = TRY(body.bool_or("raw_scores", false));
  call.request.inputs = TRY(read_side(body, {"input", "inputs"}));
  call.render = [raw](const EmbedAnswer& answer) { return render_classify(answer, raw); };
  return call;
}

}  // namespace inlay
