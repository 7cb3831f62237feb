// The architectures with a reader of config.json of their own: all but those of BERT's family.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/encoder.h"

namespace inlay {

struct BlockArchitecture {
  std::string_view name;  // model_type of config.json, or our name for a family whose model_type says less
  // Reads config.json into an EncoderConfig whose model_type and architectures are set.
  Result<> (*read)(const Json& config, EncoderConfig& encoder, std::vector<std::string>& notes);
  Result<std::unique_ptr<Encoder>> (*load)(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                           Team& team);
};

// By name, or by what a config.json says; null if there is none.
const BlockArchitecture* find_architecture(std::string_view name);
Result<const BlockArchitecture*> find_architecture(const Json& config);

// Reads config.json with what all architectures have in common.
Result<> read_architecture(const BlockArchitecture& architecture, const Json& config, EncoderConfig& encoder,
                           std::vector<std::string>& notes);

// Adds the names there are to an error that lists others.
Error with_architectures(Error error);

}  // namespace inlay
