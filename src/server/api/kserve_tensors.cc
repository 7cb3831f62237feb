#include "server/api/kserve_tensors.h"

#include <algorithm>
#include <cstring>

#include "server/api/fields.h"
#include "server/api/number_type.h"

namespace inlay {
namespace {

template <class Integer>
Integer read_integer(std::string_view bytes) {
  Integer value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

template <class Integer>
Result<> read_binary_integers(std::string_view bytes, KServeTensor& tensor) {
  if (bytes.size() % sizeof(Integer) != 0) {
    return fail(ErrorCode::kInvalidArgument, "input '{}' has {} bytes, no whole number of {}", tensor.name, bytes.size(),
                tensor.datatype);
  }
  for (size_t at = 0; at < bytes.size(); at += sizeof(Integer))
    tensor.integers.push_back(read_integer<Integer>(bytes.substr(at)));
  return {};
}

// Each element has its length before it, as 32 bits.
Result<> read_binary_texts(std::string_view bytes, KServeTensor& tensor) {
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

Result<std::vector<EmbedInput>> texts_of(const KServeTensor& tensor) {
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
Result<std::vector<EmbedInput>> ids_of(const KServeTensor& ids, const KServeTensor* mask) {
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

}  // namespace

std::vector<KServeOutput> kserve_outputs() {
  return {{.name = "embedding", .is_half = false}, {.name = "embedding_fp16", .is_half = true}};
}

Result<std::vector<KServeOutput>> kserve_outputs(const std::vector<std::string>& names) {
  const std::vector<KServeOutput> known = kserve_outputs();
  if (names.empty()) return std::vector<KServeOutput>{known.front()};
  std::vector<KServeOutput> result;
  for (const std::string& name : names) {
    const auto is_it = [&name](const KServeOutput& output) { return output.name == name; };
    const std::vector<KServeOutput>::const_iterator found = std::find_if(known.begin(), known.end(), is_it);
    if (found == known.end()) {
      return fail(ErrorCode::kInvalidArgument, "unexpected output '{}': the model has embedding and embedding_fp16", name);
    }
    if (std::any_of(result.begin(), result.end(), is_it)) {
      return fail(ErrorCode::kInvalidArgument, "output '{}' is asked for twice", name);
    }
    result.push_back(*found);
  }
  return result;
}

std::string kserve_output_bytes(const KServeOutput& output, const std::vector<std::vector<float>>& vectors) {
  const NumberType type = output.is_half ? NumberType::kFloat16 : NumberType::kFloat32;
  std::string bytes;
  for (const std::vector<float>& vector : vectors) bytes += number_bytes(type, vector);
  return bytes;
}

Result<> read_kserve_binary(std::string_view bytes, KServeTensor& tensor) {
  if (tensor.datatype == "BYTES") return read_binary_texts(bytes, tensor);
  if (tensor.datatype == "INT64") return read_binary_integers<int64_t>(bytes, tensor);
  return read_binary_integers<int32_t>(bytes, tensor);
}

Result<> check_kserve_count(const KServeTensor& tensor) {
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

Result<std::vector<EmbedInput>> kserve_inputs(const std::vector<KServeTensor>& tensors) {
  const KServeTensor* texts = nullptr;
  const KServeTensor* ids = nullptr;
  const KServeTensor* mask = nullptr;
  for (const KServeTensor& tensor : tensors) {
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

Result<> read_kserve_parameters(const Json& parameters, EmbedRequest& request) {
  request.prompt = TRY(optional_string(parameters, "prompt"));
  request.prompt_name = TRY(optional_string(parameters, "prompt_name"));
  request.input_type = TRY(optional_string(parameters, "input_type"));
  request.normalize = TRY(optional_bool(parameters, "normalize"));
  request.dimensions = TRY(optional_int(parameters, "dimensions"));
  TRY_VOID(read_truncate(parameters, request));
  return read_schedule(parameters, request);
}

}  // namespace inlay
