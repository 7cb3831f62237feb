// KServe v2 (the Open Inference Protocol) over HTTP. An embedding model has the inputs `text` (BYTES) or `input_ids` with
// `attention_mask` (INT64), and the outputs `embedding` (FP32) and `embedding_fp16`.
#include <algorithm>
#include <charconv>

#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/kserve_tensors.h"

namespace inlay {
namespace {

constexpr std::string_view kLengthHeader = "inference-header-content-length";

// The binary part of a body, taken tensor by tensor.
class BinaryData {
 public:
  explicit BinaryData(std::string_view bytes) : rest_(bytes) {}

  Result<std::string_view> take(std::string_view tensor, int64_t size) {
    if (size < 0 || static_cast<uint64_t>(size) > rest_.size()) {
      return fail(ErrorCode::kInvalidArgument, "input '{}' has binary_data_size {}, but {} bytes are left in the body", tensor,
                  size, rest_.size());
    }
    const std::string_view taken = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(static_cast<size_t>(size));
    return taken;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

// `data` is row-major, flat or nested as the shape says.
Result<> read_json_data(const Json& data, KServeTensor& tensor) {
  for (const Json& item : TRY(data.items())) {
    if (item.is_array())
      TRY_VOID(read_json_data(item, tensor));
    else if (tensor.is_integer())
      tensor.integers.push_back(TRY(item.as_int()));
    else
      tensor.texts.emplace_back(TRY(item.as_string()));
  }
  return {};
}

Result<KServeTensor> read_tensor(const Json& json, BinaryData& binary) {
  KServeTensor tensor;
  const Json name = TRY(required(json, "name"));
  const Json datatype = TRY(required(json, "datatype"));
  const Json shape = TRY(required(json, "shape"));
  tensor.name = TRY(name.as_string());
  tensor.datatype = TRY(datatype.as_string());
  for (const Json& extent : TRY(shape.items())) tensor.shape.push_back(TRY(extent.as_int()));
  if (tensor.datatype != "BYTES" && !tensor.is_integer()) {
    return fail(ErrorCode::kInvalidArgument, "input '{}' is {}, wanted BYTES, INT64 or INT32", tensor.name, tensor.datatype);
  }
  const std::optional<Json> parameters = json.find("parameters");
  const std::optional<Json> size = parameters ? parameters->find("binary_data_size") : std::nullopt;
  if (size) {
    const int64_t count = TRY(size->as_int());
    const std::string_view bytes = TRY(binary.take(tensor.name, count));
    TRY_VOID(read_kserve_binary(bytes, tensor));
  } else {
    const Json data = TRY(required(json, "data"));
    TRY_VOID(read_json_data(data, tensor));
  }
  TRY_VOID(check_kserve_count(tensor));
  return tensor;
}

struct Reply {
  std::string id;
  std::vector<KServeOutput> outputs;
};

// `binary` is what holds for outputs that do not say.
Result<std::vector<KServeOutput>> read_outputs(const Json& body, bool binary) {
  const std::optional<Json> outputs = body.find("outputs");
  const std::vector<Json> items = outputs ? TRY(outputs->items()) : std::vector<Json>();
  std::vector<std::string> names;
  for (const Json& item : items) names.push_back(TRY(item.string_or("name", "")));
  std::vector<KServeOutput> result = TRY(kserve_outputs(names));
  for (size_t i = 0; i < result.size(); ++i) {
    const std::optional<Json> parameters = i < items.size() ? items[i].find("parameters") : std::nullopt;
    result[i].binary = parameters ? TRY(parameters->bool_or("binary_data", binary)) : binary;
    if (!result[i].is_half || result[i].binary) continue;
    return fail(ErrorCode::kInvalidArgument, "output '{}' is FP16, which has no JSON form: ask for it with binary_data",
                result[i].name);
  }
  return result;
}

void write_output(JsonWriter& json, const KServeOutput& output, const std::vector<std::vector<float>>& vectors) {
  const size_t dimensions = vectors.empty() ? 0 : vectors[0].size();
  json.begin_object().key("name").value(output.name).key("datatype").value(output.datatype()).key("shape").begin_array();
  json.value(static_cast<uint64_t>(vectors.size())).value(static_cast<uint64_t>(dimensions)).end_array();
  if (output.binary) {
    const uint64_t bytes = vectors.size() * dimensions * (output.is_half ? 2 : sizeof(float));
    json.key("parameters").begin_object().key("binary_data_size").value(bytes).end_object();
  } else {
    json.key("data").begin_array();
    for (const std::vector<float>& vector : vectors) {
      for (const float number : vector) json.value(number);
    }
    json.end_array();
  }
  json.end_object();
}

HttpResponse render(const EmbedAnswer& answer, const Reply& reply) {
  JsonWriter json;
  json.begin_object();
  if (!reply.id.empty()) json.key("id").value(reply.id);
  json.key("model_name").value(answer.model).key("model_version").value("1").key("outputs").begin_array();
  std::string binary;
  for (const KServeOutput& output : reply.outputs) {
    write_output(json, output, answer.vectors);
    if (output.binary) binary += kserve_output_bytes(output, answer.vectors);
  }
  json.end_array().end_object();
  HttpResponse response;
  response.body = json.take();
  const auto is_binary = [](const KServeOutput& output) { return output.binary; };
  if (std::none_of(reply.outputs.begin(), reply.outputs.end(), is_binary)) return response;
  response.content_type = "application/octet-stream";
  response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(response.body.size()));
  response.body += binary;
  return response;
}

// Where the JSON ends and the tensors begin.
Result<size_t> json_length(const HttpRequest& request) {
  const std::string_view header = request.header(kLengthHeader);
  if (header.empty()) return request.body.size();
  size_t length = 0;
  const std::from_chars_result parsed = std::from_chars(header.data(), header.data() + header.size(), length);
  if (parsed.ec != std::errc() || parsed.ptr != header.data() + header.size() || length > request.body.size()) {
    return fail(ErrorCode::kInvalidArgument, "Inference-Header-Content-Length is '{}', the body has {} bytes", header,
                request.body.size());
  }
  return length;
}

}  // namespace

Result<DialectCall> parse_kserve(const HttpRequest& request, std::string_view model) {
  DialectCall call;
  call.request.model = model;
  call.request.unit_length = false;
  Reply reply{.id = {}, .outputs = {KServeOutput{}}};
  const size_t length = TRY(json_length(request));
  const std::string_view whole = request.body;
  if (length == 0 && !whole.empty()) {  // The raw form: the body is the one input.
    call.request.inputs.push_back({std::string(whole), {}, false});
    call.render = [reply](const EmbedAnswer& answer) { return render(answer, reply); };
    return call;
  }
  const JsonDocument document = TRY(JsonDocument::parse(whole.substr(0, length), "body"));
  const Json body = document.root();
  BinaryData binary(whole.substr(length));
  std::vector<KServeTensor> tensors;
  const Json inputs = TRY(required(body, "inputs"));
  for (const Json& input : TRY(inputs.items())) tensors.push_back(TRY(read_tensor(input, binary)));
  if (binary.left() > 0) return fail(ErrorCode::kInvalidArgument, "{} bytes of the body belong to no input", binary.left());
  reply.id = TRY(body.string_or("id", ""));
  bool binary_output = false;
  if (const std::optional<Json> parameters = body.find("parameters")) {
    TRY_VOID(read_kserve_parameters(*parameters, call.request));
    binary_output = TRY(parameters->bool_or("binary_data_output", false));
  }
  reply.outputs = TRY(read_outputs(body, binary_output));
  call.request.inputs = TRY(kserve_inputs(tensors));
  call.render = [reply](const EmbedAnswer& answer) { return render(answer, reply); };
  return call;
}

HttpResponse render_kserve_server() {
  JsonWriter json;
  json.begin_object().key("name").value("inlay").key("version").value(INLAY_VERSION).key("extensions").begin_array();
  json.value("binary_tensor_data").value("model_repository").value("parameters").value("schedule_policy");
  json.end_array().end_object();
  return json_response(json.take());
}

HttpResponse render_kserve_index(const std::vector<ModelFacts>& models) {
  JsonWriter json;
  json.begin_array();
  for (const ModelFacts& model : models) {
    json.begin_object().key("name").value(model.name).key("version").value("1").key("state").value("READY");
    json.key("reason").value("").end_object();
  }
  json.end_array();
  return json_response(json.take());
}

HttpResponse render_kserve_model(const ModelFacts& model) {
  JsonWriter json;
  json.begin_object().key("name").value(model.name).key("versions").begin_array().value("1").end_array();
  json.key("platform").value("inlay").key("inputs").begin_array();
  json.begin_object().key("name").value("text").key("datatype").value("BYTES");
  json.key("shape").begin_array().value(-1).end_array().end_object().end_array();
  json.key("outputs").begin_array();
  for (const KServeOutput& output : kserve_outputs()) {
    json.begin_object().key("name").value(output.name).key("datatype").value(output.datatype());
    json.key("shape").begin_array().value(-1).value(model.dimensions).end_array().end_object();
  }
  json.end_array().end_object();
  return json_response(json.take());
}

}  // namespace inlay
