// The file that keeps packed weights from one start to the next.
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/precision.h"
#include "weights/packed_store.h"

namespace inlay {

// Opens the cache of the model in `folder` for this precision and plan. Files are named after the folder, the precision and the
// kernels, so that a newer cache takes the place of an older one.
PackedStore open_weight_cache(const std::filesystem::path& cache, const std::filesystem::path& folder, Precision precision,
                              const LoadPlan& plan, const WeightStore& weights);

// Writes what was packed, if anything. A cache that can't be written costs time at the next start, so that is a warning only.
void save_weight_cache(PackedStore& packed, const WeightStore& weights);

}  // namespace inlay
