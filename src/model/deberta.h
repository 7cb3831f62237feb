// DeBERTa v2 and v3: BERT whose attention knows relative positions only.
#pragma once

#include "base/json.h"
#include "model/encoder.h"

namespace inlay {

Result<> read_deberta_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_deberta(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                              Team& team);

}  // namespace inlay
