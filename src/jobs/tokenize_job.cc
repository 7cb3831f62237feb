#include "jobs/tokenize_job.h"

#include "base/json_writer.h"

namespace inlay {

namespace {

void write_offsets(const std::vector<std::optional<Offsets>>& offsets, JsonWriter& json) {
  json.key("offsets").begin_array();
  for (const std::optional<Offsets>& each : offsets) {
    if (each) {
      json.begin_array().value(each->begin).value(each->end).end_array();
    } else {
      json.null();
    }
  }
  json.end_array();
}

}  // namespace

Result<std::string> tokenize_line(const TokenLines& lines, std::string_view text, std::optional<std::string_view> second) {
  const auto& [tokenizer, options, with_offsets] = lines;
  const Encoding encoding = TRY(second ? tokenizer.encode_pair(text, *second, options) : tokenizer.encode(text, options));
  JsonWriter json;
  json.begin_object().key("ids").begin_array();
  for (const int32_t id : encoding.ids) json.value(id);
  json.end_array().key("tokens").begin_array();
  for (const int32_t id : encoding.ids) {
    const std::optional<std::string_view> token = tokenizer.id_to_token(id);
    if (token) {
      json.value(*token);
    } else {
      json.null();
    }
  }
  json.end_array();
  if (second) {
    json.key("type_ids").begin_array();
    for (size_t i = 0; i < encoding.ids.size(); ++i) json.value(encoding.type_ids.empty() ? 0 : encoding.type_ids[i]);
    json.end_array();
  }
  if (with_offsets) write_offsets(tokenizer.offsets(encoding, text, second, options), json);
  json.end_object();
  return json.text() + "\n";
}

Result<std::string> decode_line(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  const std::string text = TRY(tokenizer.decode(ids, false));
  JsonWriter json;
  json.begin_object().key("text").value(text).end_object();
  return json.text() + "\n";
}

}  // namespace inlay
