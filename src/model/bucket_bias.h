// The bias of T5 and MPNet: a number for each head and bucket of distance.
#pragma once

#include "base/json.h"
#include "model/distance_bias.h"
#include "model/model_spec.h"
#include "model/weight_packer.h"

namespace inlay {

// relative_attention_num_buckets and, where the config has it, relative_attention_max_distance.
Result<> read_buckets(const Json& config, TransformerConfig& t);
// From the tensor `name` [buckets, heads].
Result<DistanceBias> load_bucket_bias(const EncoderConfig& config, const NamedWeights& weights, const std::string& name);

}  // namespace inlay
