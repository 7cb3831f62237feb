// BERT and the families of its design (bert_layout.h): learned positions, post-norm layers, dense attention in both directions.
#pragma once

#include <memory>

#include "model/encoder.h"

namespace inlay {

Result<std::unique_ptr<Encoder>> load_bert(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                           Team& team);

}  // namespace inlay
