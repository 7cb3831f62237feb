// The tensors of a model folder, by name, without copying them: safetensors files are memory-mapped.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor_view.h"

namespace inlay {

// Immutable after opening, so any thread may read. Views are valid while the store lives.
class WeightStore {
 public:
  // Opens model.safetensors, or the shards that model.safetensors.index.json names (then no other file is looked at).
  // Every header is checked before anything is allocated for it; a file that contradicts itself is kCorrupt, with file and
  // field.
  static Result<WeightStore> open(const std::filesystem::path& folder);

  WeightStore(WeightStore&&) noexcept;
  WeightStore& operator=(WeightStore&&) noexcept;
  ~WeightStore();

  // nullptr if there is no such tensor.
  const TensorView* find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted
  // Bytes of all tensors.
  uint64_t total_bytes() const;
  // The file a tensor lies in, for messages.
  std::string file_of(std::string_view name) const;
  // Lets the pages of a tensor go once it was copied or packed, so that weights are resident once.
  void release(std::string_view name) const;

 private:
  struct Impl;
  explicit WeightStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inlay
