#include "server/api/token_outputs.h"

#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/vectors.h"

namespace inlay {
namespace {

HttpResponse render_sparse(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_array();
  for (const TextOutput& output : answer.outputs) {
    json.begin_array();
    for (const SparseWeight& entry : output.sparse) {
      json.begin_object().key("index").value(entry.id).key("value").value(entry.weight).end_object();
    }
    json.end_array();
  }
  json.end_array();
  return timed_response(json, answer);
}

HttpResponse render_tokens(const EmbedAnswer& answer) {
  JsonWriter json;
  json.begin_array();
  for (const TextOutput& output : answer.outputs) {
    const TokenVectors& tokens = output.tokens;
    const size_t columns = static_cast<size_t>(tokens.columns);
    json.begin_array();
    for (size_t i = 0; i < tokens.ids.size(); ++i) {
      write_numbers(json, std::span<const float>(tokens.values).subspan(i * columns, columns));
    }
    json.end_array();
  }
  json.end_array();
  return timed_response(json, answer);
}

Result<DialectCall> read(const Json& body, OutputKind kind) {
  DialectCall call;
  const Json inputs = TRY(required(body, "inputs"));
  call.request.inputs = TRY(read_inputs(inputs, "inputs", /*may_mix=*/true));
  call.request.output = kind;
  call.request.model = TRY(body.string_or("model", ""));
  call.request.prompt_name = TRY(optional_string(body, "prompt_name"));
  call.request.input_type = TRY(optional_string(body, "input_type"));
  TRY_VOID(read_priority_and_timeout(body, call.request));
  TRY_VOID(read_truncate(body, call.request));
  return call;
}

}  // namespace

Result<DialectCall> parse_embed_sparse(const Json& body) {
  DialectCall call = TRY(read(body, OutputKind::kSparse));
  call.render = render_sparse;
  return call;
}

Result<DialectCall> parse_embed_all(const Json& body) {
  DialectCall call = TRY(read(body, OutputKind::kTokens));
  call.render = render_tokens;
  return call;
}

}  // namespace inlay
