#include "server/grpc/infer_messages.h"

#include "base/json_writer.h"
#include "server/api/kserve_tensors.h"

namespace inlay {
namespace {

using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

void write_parameter(JsonWriter& json, const inference::InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case inference::InferParameter::kBoolParam: json.value(value.bool_param()); return;
    case inference::InferParameter::kInt64Param: json.value(static_cast<int64_t>(value.int64_param())); return;
    case inference::InferParameter::kStringParam: json.value(value.string_param()); return;
    case inference::InferParameter::kDoubleParam: json.value(value.double_param()); return;
    case inference::InferParameter::kUint64Param: json.value(static_cast<uint64_t>(value.uint64_param())); return;
    case inference::InferParameter::PARAMETER_CHOICE_NOT_SET: json.null(); return;
  }
}

// Parameters mean the same as over HTTP, so they are read by the same function.
Result<> read_parameters(const Parameters& parameters, EmbedRequest& request) {
  if (parameters.empty()) return {};
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : parameters) {
    json.key(name);
    write_parameter(json, value);
  }
  json.end_object();
  const JsonDocument document = TRY(JsonDocument::parse(json.text(), "parameters"));
  return read_kserve_parameters(document.root(), request);
}

void read_contents(const inference::InferTensorContents& contents, KServeTensor& tensor) {
  if (tensor.datatype == "BYTES") {
    tensor.texts.assign(contents.bytes_contents().begin(), contents.bytes_contents().end());
  } else if (tensor.datatype == "INT64") {
    tensor.integers.assign(contents.int64_contents().begin(), contents.int64_contents().end());
  } else {
    tensor.integers.assign(contents.int_contents().begin(), contents.int_contents().end());
  }
}

Result<KServeTensor> read_tensor(const inference::ModelInferRequest& request, int index) {
  const inference::ModelInferRequest::InferInputTensor& input = request.inputs(index);
  KServeTensor tensor{.name = input.name(), .datatype = input.datatype(), .shape = {}, .texts = {}, .integers = {}};
  tensor.shape.assign(input.shape().begin(), input.shape().end());
  if (tensor.datatype != "BYTES" && !tensor.is_integer()) {
    return fail(ErrorCode::kInvalidArgument, "input '{}' is {}, wanted BYTES, INT64 or INT32", tensor.name, tensor.datatype);
  }
  if (request.raw_input_contents().empty())
    read_contents(input.contents(), tensor);
  else
    TRY_VOID(read_kserve_binary(request.raw_input_contents(index), tensor));
  TRY_VOID(check_kserve_count(tensor));
  return tensor;
}

void add_tensor(inference::ModelMetadataResponse::TensorMetadata& tensor, const char* datatype,
                std::initializer_list<int> shape) {
  tensor.set_datatype(datatype);
  for (const int extent : shape) tensor.add_shape(extent);
}

Result<std::vector<KServeOutput>> wanted_outputs(const inference::ModelInferRequest& request) {
  std::vector<std::string> names;
  for (const inference::ModelInferRequest::InferRequestedOutputTensor& output : request.outputs()) {
    names.push_back(output.name());
  }
  return kserve_outputs(names);
}

}  // namespace

Result<EmbedRequest> parse_infer(const inference::ModelInferRequest& request) {
  EmbedRequest result;
  result.model = request.model_name();
  result.unit_length = false;
  if (!request.model_version().empty() && request.model_version() != "1") {
    return fail(ErrorCode::kNotFound, "model '{}' has version 1, not '{}'", request.model_name(), request.model_version());
  }
  const int raw = request.raw_input_contents_size();
  if (raw != 0 && raw != request.inputs_size()) {
    return fail(ErrorCode::kInvalidArgument, "{} raw contents for {} inputs", raw, request.inputs_size());
  }
  std::vector<KServeTensor> tensors;
  for (int i = 0; i < request.inputs_size(); ++i) tensors.push_back(TRY(read_tensor(request, i)));
  TRY_VOID(wanted_outputs(request));
  TRY_VOID(read_parameters(request.parameters(), result));
  result.inputs = TRY(kserve_inputs(tensors));
  return result;
}

void render_infer(const EmbedAnswer& answer, const inference::ModelInferRequest& request,
                  inference::ModelInferResponse& response) {
  response.set_model_name(answer.model);
  response.set_model_version("1");
  response.set_id(request.id());
  // parse_infer has taken the request.
  const std::vector<KServeOutput> outputs = wanted_outputs(request).value_or(std::vector<KServeOutput>());
  for (const KServeOutput& wanted : outputs) {
    inference::ModelInferResponse::InferOutputTensor& output = *response.add_outputs();
    output.set_name(wanted.name);
    output.set_datatype(wanted.datatype());
    output.add_shape(static_cast<int64_t>(answer.vectors.size()));
    output.add_shape(answer.vectors.empty() ? 0 : static_cast<int64_t>(answer.vectors[0].size()));
    *response.add_raw_output_contents() = kserve_output_bytes(wanted, answer.vectors);
  }
}

void render_model_metadata(const ModelFacts& facts, inference::ModelMetadataResponse& response) {
  response.set_name(facts.name);
  response.add_versions("1");
  response.set_platform("inlay");
  inference::ModelMetadataResponse::TensorMetadata& text = *response.add_inputs();
  text.set_name("text");
  add_tensor(text, "BYTES", {-1});
  for (const KServeOutput& output : kserve_outputs()) {
    inference::ModelMetadataResponse::TensorMetadata& tensor = *response.add_outputs();
    tensor.set_name(output.name);
    add_tensor(tensor, output.datatype(), {-1, facts.dimensions});
  }
}

}  // namespace inlay
