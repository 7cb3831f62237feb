#include "model/bucket_bias.h"

#include "model/model_spec_parts.h"

namespace inlay {

Result<> read_buckets(const Json& config, TransformerConfig& t) {
  t.distance_buckets = TRY(int_member(config, "relative_attention_num_buckets", {4, 65536}, 32));
  t.farthest_bucket = TRY(int_member(config, "relative_attention_max_distance", {1, 1 << 20}, 128));
  if (t.distance_buckets % 4 == 0 && t.farthest_bucket > t.distance_buckets / 4) return {};
  return fail(ErrorCode::kUnsupported,
              "{}: {} buckets up to a distance of {}; wanted a multiple of 4 and a distance beyond a quarter of them",
              config.where(), t.distance_buckets, t.farthest_bucket);
}

Result<DistanceBias> load_bucket_bias(const EncoderConfig& config, const NamedWeights& weights, const std::string& name) {
  const TransformerConfig& t = config.transformer;
  const TensorView* const tensor = TRY(weights.require(name, {t.distance_buckets, config.heads}));
  std::vector<float> values(static_cast<size_t>(t.distance_buckets) * static_cast<size_t>(config.heads));
  TRY_VOID(to_float(*tensor, 0, values));
  return DistanceBias::make(config.heads, config.max_positions, [&](int head, int distance) {
    const int bucket = distance_bucket(distance, t.distance_buckets, t.farthest_bucket);
    return values[static_cast<size_t>(bucket) * static_cast<size_t>(config.heads) + static_cast<size_t>(head)];
  });
}

}  // namespace inlay
