#include "server/api/text_routes.h"

#include "base/json_writer.h"
#include "server/api/fields.h"

namespace inlay {
namespace {

Result<std::vector<int64_t>> read_ids(const std::vector<Json>& items) {
  std::vector<int64_t> ids;
  for (const Json& item : items) ids.push_back(TRY(item.as_int()));
  return ids;
}

void write_offset(JsonWriter& json, std::optional<int64_t> offset) {
  if (offset) {
    json.value(*offset);
  } else {
    json.null();
  }
}

}  // namespace

Result<TokenizeCall> parse_tokenize(const Json& body) {
  TokenizeCall call;
  const Json inputs = TRY(required(body, "inputs"));
  std::vector<EmbedInput> texts;
  if (inputs.is_string())
    texts = TRY(read_inputs(inputs, "inputs", /*may_mix=*/false));
  else
    texts = TRY(read_texts(inputs, "inputs"));
  for (EmbedInput& text : texts) call.texts.push_back(std::move(text.text));
  call.add_special_tokens = TRY(body.bool_or("add_special_tokens", true));
  call.prompt_name = TRY(optional_string(body, "prompt_name"));
  call.model = TRY(body.string_or("model", ""));
  return call;
}

HttpResponse render_tokenize(const std::vector<std::vector<TokenPiece>>& texts) {
  JsonWriter json;
  json.begin_array();
  for (const std::vector<TokenPiece>& pieces : texts) {
    json.begin_array();
    for (const TokenPiece& piece : pieces) {
      json.begin_object().key("id").value(piece.id).key("text").value(piece.text).key("special").value(piece.special);
      write_offset(json.key("start"), piece.bytes ? std::optional<int64_t>(piece.bytes->begin) : std::nullopt);
      write_offset(json.key("stop"), piece.bytes ? std::optional<int64_t>(piece.bytes->end) : std::nullopt);
      json.end_object();
    }
    json.end_array();
  }
  json.end_array();
  return json_response(json.take());
}

Result<DecodeCall> parse_decode(const Json& body) {
  DecodeCall call;
  const Json ids = TRY(required(body, "ids"));
  const std::vector<Json> items = TRY(ids.items());
  if (items.empty()) return fail(ErrorCode::kInvalidArgument, "`ids` cannot be empty");
  if (!items[0].is_array()) {
    call.ids.push_back(TRY(read_ids(items)));
  } else {
    for (const Json& item : items) {
      const std::vector<Json> row = TRY(item.items());
      call.ids.push_back(TRY(read_ids(row)));
    }
  }
  call.skip_special_tokens = TRY(body.bool_or("skip_special_tokens", true));
  call.model = TRY(body.string_or("model", ""));
  return call;
}

HttpResponse render_decode(const std::vector<std::string>& texts) {
  JsonWriter json;
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
  return json_response(json.take());
}

}  // namespace inlay
