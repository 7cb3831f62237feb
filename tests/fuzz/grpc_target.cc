#include "fuzz_target.h"
#include "server/grpc/infer_messages.h"

namespace inlay {

bool fuzz_grpc(std::string_view bytes) {
  inference::ModelInferRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  const Result<EmbedRequest> parsed = parse_infer(request);
  if (!parsed) return false;
  EmbedAnswer answer;
  answer.vectors.assign(parsed->inputs.size(), std::vector<float>(8, 0.5F));
  inference::ModelInferResponse response;
  render_infer(answer, request, response);
  return true;
}

}  // namespace inlay
