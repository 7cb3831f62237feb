#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/number_type.h"
#include "server/api/vectors.h"

namespace inlay {
namespace {

void write_model(JsonWriter& json, const ModelFacts& model) {
  json.begin_object().key("id").value(model.name).key("object").value("model").key("created").value(model.created);
  json.key("owned_by").value("inlay").end_object();
}

struct Form {
  bool base64 = false;
  NumberType type = NumberType::kFloat32;
};

HttpResponse render(const EmbedAnswer& answer, const Form& form) {
  JsonWriter json;
  json.begin_object().key("object").value("list").key("data").begin_array();
  for (size_t i = 0; i < answer.vectors.size(); ++i) {
    json.begin_object().key("object").value("embedding").key("index").value(static_cast<uint64_t>(i)).key("embedding");
    if (form.base64)
      json.value(base64(number_bytes(form.type, answer.vectors[i])));
    else
      write_numbers(json, form.type, answer.vectors[i]);
    json.end_object();
  }
  json.end_array().key("model").value(answer.model).key("usage").begin_object();
  json.key("prompt_tokens").value(answer.total_tokens).key("total_tokens").value(answer.total_tokens).end_object().end_object();
  return json_response(json.take());
}

// vLLM's way to truncate: -1 is the model's limit, null is the server's default.
Result<> read_truncate_prompt_tokens(const Json& body, EmbedRequest& request) {
  const std::optional<int64_t> tokens = TRY(optional_int(body, "truncate_prompt_tokens"));
  if (!tokens) return {};
  if (*tokens < -1 || *tokens == 0) {
    return fail(ErrorCode::kInvalidArgument, "`truncate_prompt_tokens` is {}, wanted -1 or a number of tokens", *tokens);
  }
  request.truncate = true;
  if (*tokens > 0) request.max_tokens = *tokens;
  return {};
}

// `embed_dtype` is vLLM's name; base64 then holds numbers of that type.
Result<Form> read_form(const Json& body) {
  const std::string format = TRY(body.string_or("encoding_format", "float"));
  TRY_VOID(check_one_of("encoding_format", format, {"float", "base64"}));
  const std::string dtype = TRY(body.string_or("embed_dtype", "float32"));
  const std::optional<NumberType> type = number_type_from_name(dtype);
  if (!type) {
    return fail(ErrorCode::kInvalidArgument,
                "`embed_dtype` is '{}', wanted one of float32, float16, bfloat16, int8, uint8, binary, ubinary", dtype);
  }
  return Form{format == "base64", *type};
}

}  // namespace

Result<DialectCall> parse_openai(const Json& body) {
  DialectCall call;
  const Json input = TRY(required(body, "input"));
  call.request.inputs = TRY(read_inputs(input, "input", /*may_mix=*/false));
  call.request.model = TRY(body.string_or("model", ""));
  TRY_VOID(read_common(body, call.request));
  TRY_VOID(read_truncate(body, call.request));
  TRY_VOID(read_truncate_prompt_tokens(body, call.request));
  const Form form = TRY(read_form(body));
  if (packs_bits(form.type)) call.request.dimensions_multiple_of = 8;
  call.render = [form](const EmbedAnswer& answer) { return render(answer, form); };
  return call;
}

HttpResponse render_openai_models(const std::vector<ModelFacts>& models) {
  JsonWriter json;
  json.begin_object().key("object").value("list").key("data").begin_array();
  for (const ModelFacts& model : models) write_model(json, model);
  json.end_array().end_object();
  return json_response(json.take());
}

HttpResponse render_openai_model(const ModelFacts& model) {
  JsonWriter json;
  write_model(json, model);
  return json_response(json.take());
}

}  // namespace inlay
