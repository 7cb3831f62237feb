#include "engine/weight_cache.h"

#include <system_error>

#include "base/checksum.h"
#include "base/log.h"
#include "model/weight_packer.h"

namespace inlay {
namespace {

constexpr size_t kMaxNameBytes = 100;  // of the folder's name, since a file name has an end

// Tells folders of the same name apart.
uint64_t path_checksum(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(folder, error);
  const std::string text = error ? folder.string() : canonical.string();
  Checksum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.value();
}

std::string folder_name(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(folder, error);
  return (error ? folder : canonical).filename().string().substr(0, kMaxNameBytes);
}

}  // namespace

PackedStore open_weight_cache(const std::filesystem::path& cache, const std::filesystem::path& folder, Precision precision,
                              const LoadPlan& plan, const WeightStore& weights) {
  const std::string name = fmt::format("{}-{:016x}-{}-{}.packed", folder_name(folder), path_checksum(folder),
                                       precision_name(precision), plan.compute.kernels->name);
  return PackedStore::open(cache / name, packed_key(weights, plan));
}

void save_weight_cache(PackedStore& packed, const WeightStore& weights) {
  if (!packed.is_changed()) return;
  if (!weights.is_settled()) {
    spdlog::info("weight cache: not written this time, the model's files changed a moment ago");
    return;
  }
  if (const Result<> saved = packed.save(); saved) {
    spdlog::info("weight cache: written to {}", packed.file().string());
  } else {
    spdlog::warn("weight cache: not written, {}", saved.error().message);
  }
}

}  // namespace inlay
