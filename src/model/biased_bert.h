// Encoders whose attention adds a bias by distance: MPNet, T5 and JinaBert v2 (ALiBi).
#pragma once

#include "base/json.h"
#include "model/encoder.h"

namespace inlay {

Result<> read_mpnet_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_mpnet(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                            Team& team);
Result<> read_t5_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_t5(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                         Team& team);
Result<> read_jina_bert_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_jina_bert(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                                Team& team);

}  // namespace inlay
