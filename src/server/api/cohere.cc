#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/number_type.h"
#include "server/api/vectors.h"

namespace inlay {
namespace {

constexpr std::array<std::string_view, 6> kTypes = {"float", "int8", "uint8", "binary", "ubinary", "base64"};

bool is_bits(std::string_view type) { return type == "binary" || type == "ubinary"; }

void write_vector(JsonWriter& json, std::string_view type, const std::vector<float>& vector) {
  if (type == "base64")
    json.value(base64(float_bytes(vector)));
  else
    write_numbers(json, number_type_from_name(type).value_or(NumberType::kFloat32), vector);
}

HttpResponse render(const EmbedAnswer& answer, const std::vector<std::string_view>& types,
                    const std::vector<std::string>& texts) {
  JsonWriter json;
  json.begin_object().key("response_type").value("embeddings_by_type").key("id").value("embd-" + answer.id);
  json.key("embeddings").begin_object();
  for (const std::string_view type : types) {
    json.key(type).begin_array();
    for (const std::vector<float>& vector : answer.vectors) write_vector(json, type, vector);
    json.end_array();
  }
  json.end_object().key("texts").begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array().key("meta").begin_object().key("api_version").begin_object().key("version").value("2").end_object();
  json.key("billed_units").begin_object().key("input_tokens").value(answer.total_tokens).end_object().end_object().end_object();
  return json_response(json.take());
}

Result<std::vector<std::string_view>> read_types(const Json& body) {
  const std::optional<Json> value = body.find("embedding_types");
  std::vector<std::string_view> types;
  if (!value) return std::vector<std::string_view>{"float"};
  for (const Json& item : TRY(value->items())) {
    const std::string_view name = TRY(item.as_string());
    const std::array<std::string_view, 6>::const_iterator known = std::find(kTypes.begin(), kTypes.end(), name);
    if (known == kTypes.end()) {
      return fail(ErrorCode::kInvalidArgument, "embedding_types has '{}', wanted {}", name, fmt::join(kTypes, ", "));
    }
    if (std::find(types.begin(), types.end(), *known) == types.end()) types.push_back(*known);
  }
  if (types.empty()) types.push_back("float");
  return types;
}

// One text out of inputs[i].content, which is a list of parts.
Result<std::string> read_content(const Json& input, size_t index) {
  const Json content = TRY(required(input, "content"));
  std::string text;
  for (const Json& part : TRY(content.items())) {
    const std::string type = TRY(part.string_or("type", "text"));
    if (type != "text")
      return fail(ErrorCode::kUnsupported, "inputs[{}] has a part of type '{}': the model embeds text only", index, type);
    const Json value = TRY(required(part, "text"));
    text += TRY(value.as_string());
  }
  if (text.empty()) return fail(ErrorCode::kInvalidArgument, "`inputs` cannot be empty: item {} is", index);
  return text;
}

Result<std::vector<EmbedInput>> read_cohere_inputs(const Json& body) {
  if (body.find("images")) return fail(ErrorCode::kUnsupported, "images: the model embeds text only");
  const std::optional<Json> inputs = body.find("inputs");
  if (!inputs) {
    const Json texts = TRY(required(body, "texts"));
    return read_texts(texts, "texts");
  }
  if (body.find("texts")) return fail(ErrorCode::kInvalidArgument, "give either texts or inputs, not both");
  std::vector<EmbedInput> texts;
  for (const Json& item : TRY(inputs->items())) {
    std::string text = TRY(read_content(item, texts.size()));
    texts.push_back({std::move(text), {}, false});
  }
  if (texts.empty()) return fail(ErrorCode::kInvalidArgument, "`inputs` cannot be empty");
  return texts;
}

Result<> read_cohere_truncate(const Json& body, EmbedRequest& request) {
  const std::string truncate = TRY(body.string_or("truncate", "END"));
  TRY_VOID(check_one_of("truncate", truncate, {"NONE", "START", "END"}));
  request.truncate = truncate != "NONE";
  request.truncate_side = truncate == "START" ? TruncationSide::kLeft : TruncationSide::kRight;
  request.max_tokens = TRY(optional_int(body, "max_tokens"));
  return {};
}

}  // namespace

Result<DialectCall> parse_cohere(const Json& body) {
  DialectCall call;
  call.request.inputs = TRY(read_cohere_inputs(body));
  TRY_VOID(read_common(body, call.request));
  TRY_VOID(read_cohere_truncate(body, call.request));
  const Json model = TRY(required(body, "model"));
  call.request.model = TRY(model.as_string());
  const Json input_type = TRY(required(body, "input_type"));
  TRY_VOID(input_type.as_string());
  const std::optional<int64_t> dimensions = TRY(optional_int(body, "output_dimension"));
  if (dimensions) call.request.dimensions = dimensions;
  std::vector<std::string_view> types = TRY(read_types(body));
  if (std::any_of(types.begin(), types.end(), is_bits)) call.request.dimensions_multiple_of = 8;
  std::vector<std::string> texts;
  for (const EmbedInput& input : call.request.inputs) texts.push_back(input.text);
  call.render = [types = std::move(types), texts = std::move(texts)](const EmbedAnswer& answer) {
    return render(answer, types, texts);
  };
  return call;
}

}  // namespace inlay
