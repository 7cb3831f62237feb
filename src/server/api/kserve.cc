// KServe v2 (the Open Inference Protocol) over HTTP. An embedding model has the inputs `text` (BYTES) or `input_ids` with
// `attention_mask` (INT64), and the output `embedding` (FP32).
#include <charconv>
#include <cstring>

#include "base/json_writer.h"
#include "server/api/dialects.h"
#include "server/api/fields.h"
#include "server/api/vectors.h"

namespace inlay {
namespace {

constexpr std::string_view kLengthHeader = "inference-header-content-length";

struct Tensor {
  std::string name;
  std::string datatype;
  std::vector<int64_t> shape;
  std::vector<std::string> texts;  // of BYTES
  std::vector<int64_t> integers;   // of INT32 and INT64

  size_t rows() const { return shape.empty() ? 0 : static_cast<size_t>(shape[0]); }
  bool is_integer() const { return datatype == "INT64" || datatype == "INT32"; }
};

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

template <class Integer>
Integer read_integer(std::string_view bytes) {
  Integer value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

template <class Integer>
Result<> read_binary_integers(std::string_view bytes, Tensor& tensor) {
  if (bytes.size() % sizeof(Integer) != 0) {
    return fail(ErrorCode::kInvalidArgument, "input '{}' has {} bytes, no whole number of {}", tensor.name, bytes.size(),
                tensor.datatype);
  }
  for (size_t at = 0; at < bytes.size(); at += sizeof(Integer))
    tensor.integers.push_back(read_integer<Integer>(bytes.substr(at)));
  return {};
}

// Each element has its length before it, as 32 bits.
Result<> read_binary_texts(std::string_view bytes, Tensor& tensor) {
  while (!bytes.empty()) {
    const size_t length = bytes.size() < 4 ? SIZE_MAX : read_integer<uint32_t>(bytes);
    if (length > bytes.size() - std::min<size_t>(4, bytes.size())) {
      return fail(ErrorCode::kInvalidArgument, "input '{}': element {} is cut off", tensor.name, tensor.texts.size());
    }
    tensor.texts.emplace_back(bytes.substr(4, length));
    bytes.remove_prefix(4 + length);
  }
  return {};
}

Result<> read_binary(std::string_view bytes, Tensor& tensor) {
  if (tensor.datatype == "BYTES") return read_binary_texts(bytes, tensor);
  if (tensor.datatype == "INT64") return read_binary_integers<int64_t>(bytes, tensor);
  return read_binary_integers<int32_t>(bytes, tensor);
}

// `data` is row-major, flat or nested as the shape says.
Result<> read_json_data(const Json& data, Tensor& tensor) {
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

Result<> check_count(const Tensor& tensor) {
  const size_t found = tensor.is_integer() ? tensor.integers.size() : tensor.texts.size();
  size_t wanted = 1;
  for (const int64_t extent : tensor.shape) {
    if (extent < 0 || (extent > 0 && wanted > found / static_cast<size_t>(extent)))
      wanted = SIZE_MAX;
    else
      wanted *= static_cast<size_t>(extent);
  }
  if (wanted == found) return {};
  return fail(ErrorCode::kInvalidArgument, "input '{}' has {} elements, its shape is [{}]", tensor.name, found,
              fmt::join(tensor.shape, ", "));
}

Result<Tensor> read_tensor(const Json& json, BinaryData& binary) {
  Tensor tensor;
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
    TRY_VOID(read_binary(bytes, tensor));
  } else {
    const Json data = TRY(required(json, "data"));
    TRY_VOID(read_json_data(data, tensor));
  }
  TRY_VOID(check_count(tensor));
  return tensor;
}

Result<std::vector<EmbedInput>> texts_of(const Tensor& tensor) {
  if (tensor.shape.size() > 2 || (tensor.shape.size() == 2 && tensor.shape[1] != 1)) {
    return fail(ErrorCode::kInvalidArgument, "input '{}' has shape [{}], wanted [n] or [n, 1]", tensor.name,
                fmt::join(tensor.shape, ", "));
  }
  std::vector<EmbedInput> inputs;
  for (const std::string& text : tensor.texts) {
    if (text.empty())
      return fail(ErrorCode::kInvalidArgument, "input '{}' cannot be empty: element {} is", tensor.name, inputs.size());
    inputs.push_back({text, {}, false});
  }
  return inputs;
}

// Rows of ids; the mask, where there is one, says which of them count.
Result<std::vector<EmbedInput>> ids_of(const Tensor& ids, const Tensor* mask) {
  if (ids.shape.size() != 2) return fail(ErrorCode::kInvalidArgument, "input '{}' wants a shape of [texts, tokens]", ids.name);
  if (mask != nullptr && mask->shape != ids.shape)
    return fail(ErrorCode::kInvalidArgument, "attention_mask and input_ids differ in shape");
  const size_t columns = static_cast<size_t>(ids.shape[1]);
  std::vector<EmbedInput> inputs(columns == 0 ? 0 : ids.rows(), EmbedInput{{}, {}, true});
  for (size_t i = 0; i < ids.integers.size(); ++i) {
    if (mask == nullptr || mask->integers[i] != 0) inputs[i / columns].ids.push_back(ids.integers[i]);
  }
  for (size_t row = 0; row < inputs.size(); ++row) {
    if (inputs[row].ids.empty()) return fail(ErrorCode::kInvalidArgument, "input_ids: row {} has no tokens", row);
  }
  return inputs;
}

Result<std::vector<EmbedInput>> inputs_of(const std::vector<Tensor>& tensors) {
  const Tensor* texts = nullptr;
  const Tensor* ids = nullptr;
  const Tensor* mask = nullptr;
  for (const Tensor& tensor : tensors) {
    if (tensor.datatype == "BYTES" && tensor.name == "text")
      texts = &tensor;
    else if (tensor.is_integer() && tensor.name == "input_ids")
      ids = &tensor;
    else if (tensor.is_integer() && tensor.name == "attention_mask")
      mask = &tensor;
    else if (tensor.name != "token_type_ids") {
      return fail(ErrorCode::kInvalidArgument,
                  "unexpected input '{}' ({}): the model takes text (BYTES), or input_ids and attention_mask (INT64)",
                  tensor.name, tensor.datatype);
    }
  }
  if ((texts == nullptr) == (ids == nullptr))
    return fail(ErrorCode::kInvalidArgument, "wanted the input text, or the input input_ids");
  std::vector<EmbedInput> inputs = texts != nullptr ? TRY(texts_of(*texts)) : TRY(ids_of(*ids, mask));
  if (inputs.empty()) return fail(ErrorCode::kInvalidArgument, "the inputs have no rows");
  return inputs;
}

// 1 is the highest priority, 0 the default; the timeout is in microseconds.
Result<> read_schedule(const Json& parameters, EmbedRequest& request) {
  const std::optional<int64_t> priority = TRY(optional_int(parameters, "priority"));
  if (priority && *priority < 0) return fail(ErrorCode::kInvalidArgument, "priority is {}, wanted 0 or more", *priority);
  if (priority && *priority > 0) {
    request.priority = *priority == 1 ? Priority::kInteractive : *priority == 2 ? Priority::kStandard : Priority::kBulk;
  }
  const std::optional<int64_t> timeout = TRY(optional_int(parameters, "timeout"));
  if (timeout && *timeout < 0) return fail(ErrorCode::kInvalidArgument, "timeout is {}, wanted microseconds", *timeout);
  if (timeout && *timeout > 0) request.timeout = std::chrono::microseconds(*timeout);
  return {};
}

struct Reply {
  std::string id;
  bool binary = false;
};

Result<> read_parameters(const Json& parameters, EmbedRequest& request, Reply& reply) {
  request.prompt = TRY(optional_string(parameters, "prompt"));
  request.prompt_name = TRY(optional_string(parameters, "prompt_name"));
  request.input_type = TRY(optional_string(parameters, "input_type"));
  request.normalize = TRY(optional_bool(parameters, "normalize"));
  request.dimensions = TRY(optional_int(parameters, "dimensions"));
  TRY_VOID(read_truncate(parameters, request));
  reply.binary = TRY(parameters.bool_or("binary_data_output", false));
  return read_schedule(parameters, request);
}

Result<> read_outputs(const Json& body, Reply& reply) {
  const std::optional<Json> outputs = body.find("outputs");
  if (!outputs) return {};
  for (const Json& output : TRY(outputs->items())) {
    const std::string name = TRY(output.string_or("name", ""));
    if (name != "embedding") return fail(ErrorCode::kInvalidArgument, "unexpected output '{}': the model has embedding", name);
    const std::optional<Json> parameters = output.find("parameters");
    if (parameters) reply.binary = TRY(parameters->bool_or("binary_data", reply.binary));
  }
  return {};
}

HttpResponse render(const EmbedAnswer& answer, const Reply& reply) {
  const size_t dimensions = answer.vectors.empty() ? 0 : answer.vectors[0].size();
  JsonWriter json;
  json.begin_object();
  if (!reply.id.empty()) json.key("id").value(reply.id);
  json.key("model_name").value(answer.model).key("model_version").value("1").key("outputs").begin_array().begin_object();
  json.key("name").value("embedding").key("datatype").value("FP32").key("shape").begin_array();
  json.value(static_cast<uint64_t>(answer.vectors.size())).value(static_cast<uint64_t>(dimensions)).end_array();
  HttpResponse response;
  if (reply.binary) {
    const uint64_t bytes = answer.vectors.size() * dimensions * sizeof(float);
    json.key("parameters").begin_object().key("binary_data_size").value(bytes).end_object();
    response.content_type = "application/octet-stream";
  } else {
    json.key("data").begin_array();
    for (const std::vector<float>& vector : answer.vectors) {
      for (const float number : vector) json.value(number);
    }
    json.end_array();
  }
  json.end_object().end_array().end_object();
  response.body = json.take();
  if (!reply.binary) return response;
  response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(response.body.size()));
  for (const std::vector<float>& vector : answer.vectors) response.body += float_bytes(vector);
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

Result<EmbedCall> parse_kserve(const HttpRequest& request, std::string_view model) {
  EmbedCall call;
  call.request.model = model;
  call.request.unit_length = false;
  Reply reply;
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
  std::vector<Tensor> tensors;
  const Json inputs = TRY(required(body, "inputs"));
  for (const Json& input : TRY(inputs.items())) tensors.push_back(TRY(read_tensor(input, binary)));
  if (binary.left() > 0) return fail(ErrorCode::kInvalidArgument, "{} bytes of the body belong to no input", binary.left());
  reply.id = TRY(body.string_or("id", ""));
  if (const std::optional<Json> parameters = body.find("parameters"))
    TRY_VOID(read_parameters(*parameters, call.request, reply));
  TRY_VOID(read_outputs(body, reply));
  call.request.inputs = TRY(inputs_of(tensors));
  call.render = [reply](const EmbedAnswer& answer) { return render(answer, reply); };
  return call;
}

HttpResponse render_kserve_server() {
  JsonWriter json;
  json.begin_object().key("name").value("inlay").key("version").value(INLAY_VERSION).key("extensions").begin_array();
  json.value("binary_tensor_data").value("parameters").value("schedule_policy").end_array().end_object();
  return json_response(json.take());
}

HttpResponse render_kserve_model(const ModelFacts& model) {
  JsonWriter json;
  json.begin_object().key("name").value(model.name).key("versions").begin_array().value("1").end_array();
  json.key("platform").value("inlay").key("inputs").begin_array();
  json.begin_object().key("name").value("text").key("datatype").value("BYTES");
  json.key("shape").begin_array().value(-1).end_array().end_object().end_array();
  json.key("outputs").begin_array().begin_object().key("name").value("embedding").key("datatype").value("FP32");
  json.key("shape").begin_array().value(-1).value(model.dimensions).end_array().end_object().end_array().end_object();
  return json_response(json.take());
}

}  // namespace inlay
