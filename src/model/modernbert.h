// ModernBERT: rotary positions, local and global layers, gated feed-forward, norms before the blocks and without biases.
#pragma once

#include "base/json.h"
#include "model/encoder.h"

namespace inlay {

Result<> read_modernbert_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_modernbert(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                                 Team& team);

}  // namespace inlay
