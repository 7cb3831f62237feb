#include <algorithm>

#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/vectors.h"

namespace inlay {
namespace {

std::string milliseconds(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

HttpResponse render_vectors(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_array();
  for (const std::vector<float>& vector : answer.vectors) write_numbers(json, vector);
  json.end_array();
  return timed_response(json, answer);
}

// The first vector against each of the others.
HttpResponse render_similarity(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_array();
  for (size_t i = 1; i < answer.vectors.size(); ++i) {
    json.value(static_cast<float>(cosine(answer.vectors[0], answer.vectors[i])));
  }
  json.end_array();
  return timed_response(json, answer);
}

void write_model_type(JsonWriter& json, const ModelFacts& model) {
  json.begin_object();
  if (!model.outputs.has(OutputKind::kScores)) {
    const bool is_sparse = !model.outputs.has(OutputKind::kVector) && model.outputs.has(OutputKind::kSparse);
    json.key("embedding").begin_object().key("pooling").value(is_sparse ? "splade" : model.pooling).end_object().end_object();
    return;
  }
  json.key(model.labels.size() == 1 ? "reranker" : "classifier").begin_object().key("id2label").begin_object();
  for (size_t i = 0; i < model.labels.size(); ++i) json.key(std::to_string(i)).value(model.labels[i]);
  json.end_object().key("label2id").begin_object();
  for (size_t i = 0; i < model.labels.size(); ++i) json.key(model.labels[i]).value(static_cast<uint64_t>(i));
  json.end_object().end_object().end_object();
}

// What `inlay validate` found; null if nobody asked it.
void write_validation(JsonWriter& json, const std::optional<ValidationSummary>& summary) {
  json.key("validation");
  if (!summary) {
    json.null();
    return;
  }
  json.begin_object().key("passed").value(summary->passed).key("dtype").value(summary->dtype);
  json.key("reference_dtype").value(summary->reference_dtype).key("created").value(summary->created);
  json.key("stale").value(summary->is_stale).key("texts").value(summary->texts).key("p99").value(summary->p99);
  json.key("recall_5_loss");
  if (summary->recall_5_loss)
    json.value(*summary->recall_5_loss);
  else
    json.null();
  json.key("recall_5_loss_by_language").begin_object();
  for (const auto& [language, loss] : summary->recall_5_loss_by_language) json.key(language).value(loss);
  json.end_object().key("reasons").begin_array();
  for (const std::string& reason : summary->reasons) json.value(reason);
  json.end_array().end_object();
}

}  // namespace

HttpResponse timed_response(JsonWriter& json, const EmbedAnswer& answer) {
  HttpResponse response = json_response(json.take());
  HttpHeaders& headers = response.headers;
  headers.emplace_back("x-compute-type", "cpu");
  headers.emplace_back("x-compute-time", milliseconds(answer.times.total));
  headers.emplace_back("x-compute-characters", std::to_string(answer.total_characters));
  headers.emplace_back("x-compute-tokens", std::to_string(answer.total_tokens));
  headers.emplace_back("x-total-time", milliseconds(answer.times.total));
  // As TEI: of a list, the mean of a text.
  const int64_t texts = std::max<int64_t>(1, static_cast<int64_t>(answer.tokens.size()));
  headers.emplace_back("x-tokenization-time", milliseconds(answer.times.tokenize / texts));
  headers.emplace_back("x-queue-time", milliseconds(answer.times.queue));
  headers.emplace_back("x-inference-time", milliseconds(answer.times.compute));
  return response;
}

Result<DialectCall> parse_tei_embed(const Json& body) {
  DialectCall call;
  const Json inputs = TRY(required(body, "inputs"));
  call.request.inputs = TRY(read_inputs(inputs, "inputs", /*may_mix=*/true));
  TRY_VOID(read_common(body, call.request));
  TRY_VOID(read_truncate(body, call.request));
  call.render = render_vectors;
  return call;
}

Result<DialectCall> parse_tei_similarity(const Json& body) {
  DialectCall call;
  const Json inputs = TRY(required(body, "inputs"));
  const Json source = TRY(required(inputs, "source_sentence"));
  const Json sentences = TRY(required(inputs, "sentences"));
  if (const std::optional<Json> parameters = body.find("parameters")) {
    TRY_VOID(read_truncate(*parameters, call.request));
    call.request.prompt_name = TRY(optional_string(*parameters, "prompt_name"));
  }
  const std::string_view text = TRY(source.as_string());
  if (text.empty()) return fail(ErrorCode::kInvalidArgument, "`source_sentence` cannot be empty");
  call.request.inputs = TRY(read_texts(sentences, "sentences"));
  call.request.inputs.insert(call.request.inputs.begin(), EmbedInput{std::string(text), {}, false});
  call.render = render_similarity;
  return call;
}

HttpResponse render_tei_info(const ModelFacts& model) {
  JsonWriter json;
  json.begin_object().key("model_id").value(model.id).key("model_sha").null().key("model_dtype").value(model.dtype);
  json.key("served_model_name").value(model.name);
  json.key("model_type");
  write_model_type(json, model);
  json.key("max_concurrent_requests").value(model.max_concurrent_requests);
  json.key("max_input_length").value(model.max_length).key("max_batch_tokens").value(model.max_batch_tokens);
  json.key("max_batch_requests");
  if (model.max_batch_requests)
    json.value(*model.max_batch_requests);
  else
    json.null();
  // Lists of any length are taken and split, so the bound that clients must keep is the one in tokens.
  json.key("max_client_batch_size").value(model.max_queue_tokens).key("auto_truncate").value(model.auto_truncate);
  json.key("tokenization_workers").value(model.tokenization_workers).key("version").value(INLAY_VERSION);
  json.key("sha").null().key("docker_label").null().key("dimensions").value(model.dimensions);
  json.key("prompts").begin_array();
  for (const auto& [name, text] : model.prompts) json.value(name);
  json.end_array();
  write_validation(json, model.validation);
  json.end_object();
  return json_response(json.take());
}

}  // namespace inlay
