// The tensors and parameters of KServe v2, whether they came as JSON, as binary data or in gRPC messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/api/embed_request.h"

namespace inlay {

struct KServeTensor {
  std::string name;
  std::string datatype;
  std::vector<int64_t> shape;
  std::vector<std::string> texts;  // of BYTES
  std::vector<int64_t> integers;   // of INT32 and INT64

  size_t rows() const { return shape.empty() ? 0 : static_cast<size_t>(shape[0]); }
  bool is_integer() const { return datatype == "INT64" || datatype == "INT32"; }
};

// An output that a request asks for: "embedding" (FP32) or "embedding_fp16", the same vectors in half the bytes, which has no
// form in JSON.
struct KServeOutput {
  std::string name = "embedding";
  bool is_half = false;
  bool binary = false;

  const char* datatype() const { return is_half ? "FP16" : "FP32"; }
};
// All that a model has, as its metadata lists them.
std::vector<KServeOutput> kserve_outputs();
// Those of the given names, or the model's first if there are none. None may be asked for twice: answers would grow without
// end.
Result<std::vector<KServeOutput>> kserve_outputs(const std::vector<std::string>& names);
// The vectors end to end, little-endian.
std::string kserve_output_bytes(const KServeOutput& output, const std::vector<std::vector<float>>& vectors);

// Little-endian elements; each of BYTES has its length before it, as 32 bits. The datatype is BYTES, INT64 or INT32.
Result<> read_kserve_binary(std::string_view bytes, KServeTensor& tensor);
// Whether there are as many elements as the shape says.
Result<> check_kserve_count(const KServeTensor& tensor);
// `text` (BYTES), or `input_ids` with an optional `attention_mask`, as the inputs of a request.
Result<std::vector<EmbedInput>> kserve_inputs(const std::vector<KServeTensor>& tensors);
// prompt, prompt_name, input_type, normalize, dimensions, truncate, truncation_direction, priority, timeout.
Result<> read_kserve_parameters(const Json& parameters, EmbedRequest& request);

}  // namespace inlay
