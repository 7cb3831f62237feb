// BERT with rotary positions: NomicBert v1 and v2, GTE "new" and Jina embeddings v3, under the names of their authors' code
// and under those of transformers 5.
#pragma once

#include "base/json.h"
#include "model/encoder.h"

namespace inlay {

Result<> read_nomic_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<> read_gte_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<> read_jina_v3_config(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
Result<std::unique_ptr<Encoder>> load_rotary_bert(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                                  Team& team);

}  // namespace inlay
