// Language models that embed: Qwen2, Qwen3, Llama, Mistral, EuroBERT and Gemma 3. Norms before the blocks, grouped heads,
// rotary positions, gated feed-forward.
#pragma once

#include "base/json.h"
#include "model/encoder.h"

namespace inlay {

Result<> read_decoder_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<> read_gemma3_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_decoder(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                              Team& team);

}  // namespace inlay
