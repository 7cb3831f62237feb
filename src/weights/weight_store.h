// The tensors of a model folder, by name, without copying them: files are memory-mapped.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/tensor_view.h"
#include "weights/quantization_config.h"

namespace inlay {

// Immutable after opening, so any thread may read. Views are valid while the store lives.
class WeightStore {
 public:
  // Opens model.safetensors, or else pytorch_model.bin, model.onnx, onnx/model.onnx or model.gguf. Where an index lies beside
  // (model.safetensors.index.json, pytorch_model.bin.index.json), the shards that it names are opened instead; then no other
  // file is looked at, and of a tensor that lies in two shards the one is taken that the index names. Every table of contents
  // is checked before anything is allocated for it; a file that contradicts itself is kCorrupt, with file and field. A folder
  // with weights in another format only is kUnsupported.
  static Result<WeightStore> open(const std::filesystem::path& folder);
  // Opens one file of weights, such as a module's or a head's: .safetensors, .gguf, .onnx, or what torch.save wrote (.bin, .pt,
  // .pth).
  static Result<WeightStore> open_file(const std::filesystem::path& file);

  WeightStore(WeightStore&&) noexcept;
  WeightStore& operator=(WeightStore&&) noexcept;
  ~WeightStore();

  // nullptr if there is no such tensor, or if its element type is unknown to this build.
  const TensorView* find(std::string_view name) const;
  // The same with a reason: kCorrupt if there is no such tensor, kUnsupported if its element type is unknown. Files with
  // unknown types load, since the tensor may be one that nobody needs.
  Result<const TensorView*> get(std::string_view name) const;
  bool contains(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted; also those of unknown type
  // How the folder says that its weights were made codes, if it does. Each matrix of codes is then one tensor NAME.weight whose
  // view is coded, and the tensors that it is made of have no names of their own.
  const std::optional<QuantizationConfig>& quantization() const;
  // Bytes of all tensors.
  uint64_t total_bytes() const;
  // The file a tensor lies in, for messages; for an unknown name the files that were opened.
  std::string file_of(std::string_view name) const;
  // Lets the pages of a tensor, of a part of one, or of all files go once they were copied or packed, so that weights are
  // resident once. What is read again comes back from the file.
  void release(std::string_view name) const;
  void release(std::span<const std::byte> bytes) const;
  void release_all() const;

  // Says which bytes these are without reading them all: a line for each file with its name (without folders), its size, when
  // it was last modified and changed, and a checksum of its header.
  std::string identity() const;
  // Whether the files have been left alone for so long that any later change of them also changes identity(), however coarse
  // the clock of their file system is.
  bool is_settled() const;

 private:
  struct Impl;
  explicit WeightStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inlay
