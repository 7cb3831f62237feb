// ModelInfer between its messages and the neutral request. Pure.
#pragma once

#include <inference.grpc.pb.h>

#include "server/api/embed_request.h"

namespace inlay {

Result<EmbedRequest> parse_infer(const inference::ModelInferRequest& request);
// The vectors as raw bytes, which all clients of the protocol read.
void render_infer(const EmbedAnswer& answer, const inference::ModelInferRequest& request,
                  inference::ModelInferResponse& response);
void render_model_metadata(const ModelFacts& facts, inference::ModelMetadataResponse& response);

}  // namespace inlay
