#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/vectors.h"

namespace inlay {
namespace {

HttpResponse render_embed(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_object().key("model").value(answer.model).key("embeddings").begin_array();
  for (const std::vector<float>& vector : answer.vectors) write_numbers(json, vector);
  json.end_array().key("total_duration").value(static_cast<int64_t>(answer.times.total.count()));
  json.key("load_duration").value(0).key("prompt_eval_count").value(answer.total_tokens).end_object();
  return json_response(json.take());
}

HttpResponse render_embeddings(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_object().key("embedding");
  if (answer.vectors.empty())
    json.begin_array().end_array();
  else
    write_numbers(json, answer.vectors[0]);
  json.end_object();
  return json_response(json.take());
}

// Ollama's names may end in a tag, "minilm:latest". Only that tag is meaningless here.
std::string without_tag(std::string name) {
  constexpr std::string_view kTag = ":latest";
  if (name.ends_with(kTag)) name.resize(name.size() - kTag.size());
  return name;
}

bool is_blank_string(const std::optional<Json>& value) {
  if (!value) return true;
  const Result<std::string_view> text = value->as_string();
  return text && text->empty();
}

bool is_empty_list(const Json& value) {
  const Result<std::vector<Json>> items = value.items();
  return items && items->empty();
}

Result<DialectCall> read_model(const Json& body) {
  if (!body.is_object()) return fail(ErrorCode::kCorrupt, "body: wanted an object");
  DialectCall call;
  call.request.model = without_tag(TRY(body.string_or("model", "")));
  return call;
}

}  // namespace

Result<DialectCall> parse_ollama_embed(const Json& body) {
  DialectCall call = TRY(read_model(body));
  call.render = render_embed;
  call.request.dimensions = TRY(optional_int(body, "dimensions"));
  call.request.truncate = TRY(body.bool_or("truncate", true));
  call.request.prompt_name = TRY(optional_string(body, "prompt_name"));
  call.request.input_type = TRY(optional_string(body, "input_type"));
  const std::optional<Json> input = body.find("input");
  if (is_blank_string(input) || is_empty_list(*input)) return call;
  if (input->is_string())
    call.request.inputs = TRY(read_inputs(*input, "input", /*may_mix=*/false));
  else
    call.request.inputs = TRY(read_texts(*input, "input"));
  return call;
}

Result<DialectCall> parse_ollama_embeddings(const Json& body) {
  DialectCall call = TRY(read_model(body));
  call.render = render_embeddings;
  call.request.truncate = true;
  const std::optional<Json> prompt = body.find("prompt");
  if (is_blank_string(prompt)) return call;
  const std::string_view text = TRY(prompt->as_string());
  call.request.inputs.push_back({std::string(text), {}, false});
  return call;
}

HttpResponse render_ollama_version() {
  JsonWriter json;
  json.begin_object().key("version").value(INLAY_VERSION).end_object();
  return json_response(json.take());
}

HttpResponse render_ollama_tags(const std::vector<ModelFacts>& models) {
  JsonWriter json;
  json.begin_object().key("models").begin_array();
  for (const ModelFacts& model : models) {
    json.begin_object().key("name").value(model.name).key("model").value(model.name);
    json.key("details")
        .begin_object()
        .key("family")
        .value("bert")
        .key("quantization_level")
        .value(model.dtype)
        .end_object()
        .end_object();
  }
  json.end_array().end_object();
  return json_response(json.take());
}

}  // namespace inlay
