// Weights of four bits with a scale for each group of consecutive inputs, as GPTQ and AWQ checkpoints hold them.
#pragma once

#include <span>

#include "tensor/coded_matrix.h"

namespace inlay {

constexpr int group_count(int k, int group) { return (k + group - 1) / group; }

// The weights that the codes stand for.
void weights_of(const GroupedRow& row, int group, std::span<float> out);

}  // namespace inlay
