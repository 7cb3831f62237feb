#include "weights/weight_store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "weights/coded_tensors.h"
#include "weights/shard_index.h"
#include "weights/weight_file.h"

namespace inlay {
namespace {

// The files that weights come in, best first. An index names the shards that lie beside it.
struct Source {
  const char* index;  // nullptr: none
  const char* single;
  const char* suffix;  // of shards
};
constexpr std::array<Source, 5> kSources = {{
    {"model.safetensors.index.json", "model.safetensors", ".safetensors"},
    {"pytorch_model.bin.index.json", "pytorch_model.bin", ".bin"},
    {nullptr, "model.onnx", nullptr},
    {nullptr, "onnx/model.onnx", nullptr},
    {nullptr, "model.gguf", nullptr},
}};

// File systems count in nanoseconds, ticks of a few milliseconds, or (FAT, old NFS servers) up to two seconds.
constexpr int64_t kCoarsestClockNs = 2'000'000'000;

struct Slot {
  TensorView view;
  bool has_known_type = false;
  std::string dtype_text;
  size_t shard = 0;
};

bool has_file(const std::filesystem::path& path) {
  std::error_code ignored;
  // symlink_status, so that a dangling link is reported as the broken file it is and not taken for a folder without weights.
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// Says what to do when a folder has no weights that are read.
tl::unexpected<Error> no_weights(const std::filesystem::path& folder) {
  for (const char* other : {"tf_model.h5", "flax_model.msgpack", "rust_model.ot", "openvino/openvino_model.bin"}) {
    if (!has_file(folder / other)) continue;
    return fail(
        ErrorCode::kUnsupported,
        "{}: the weights are in {}, and only safetensors, pytorch_model.bin, ONNX and GGUF files are read; convert them, "
        "for instance with save_pretrained of transformers",
        folder.string(), other);
  }
  std::string wanted;
  for (const Source& source : kSources) wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", source.single);
  return fail(ErrorCode::kNotFound, "{}: no weights; wanted one of {}", folder.string(), wanted);
}

}  // namespace

struct WeightStore::Impl {
  std::vector<WeightFile> shards;
  std::map<std::string, Slot, std::less<>> slots;
  uint64_t total_bytes = 0;
  std::string index;  // the file that names the shards
  std::optional<QuantizationConfig> quantization;
  std::vector<std::unique_ptr<CodedMatrix>> matrices;  // that views point to

  Result<> add_source(const std::filesystem::path& folder, const Source& source);
  // Maps one file and adds its tensors: all of them, or those in `wanted`, each of which must be there.
  Result<> add_file(const std::filesystem::path& folder, const std::string& file, const std::vector<std::string>* wanted);

  // Puts each matrix that is made of several tensors in their place.
  Result<> join_coded(const std::filesystem::path& folder);

  // All mapped files.
  std::vector<const WeightPart*> parts() const {
    std::vector<const WeightPart*> result;
    for (const WeightFile& shard : shards) {
      for (const WeightPart& part : shard.parts) result.push_back(&part);
    }
    return result;
  }

  const Slot* slot(std::string_view name) const {
    const auto found = slots.find(name);
    return found == slots.end() ? nullptr : &found->second;
  }

 private:
  void add_tensor(StoredTensor tensor);
};

// Of the file that was added last.
void WeightStore::Impl::add_tensor(StoredTensor tensor) {
  Slot slot;
  slot.shard = shards.size() - 1;
  slot.has_known_type = tensor.dtype.has_value();
  slot.dtype_text = std::move(tensor.dtype_text);
  slot.view.dtype = tensor.dtype.value_or(DType::kU8);
  slot.view.shape = std::move(tensor.shape);
  slot.view.strides = std::move(tensor.strides);
  slot.view.bytes = shards.back().parts[tensor.part].map.bytes().subspan(tensor.begin, tensor.end - tensor.begin);
  total_bytes += slot.view.bytes.size();
  slots.insert_or_assign(std::move(tensor.name), std::move(slot));
}

Result<> WeightStore::Impl::add_file(const std::filesystem::path& folder, const std::string& file,
                                     const std::vector<std::string>* wanted) {
  shards.push_back(TRY(open_weight_file(folder, file)));
  std::vector<StoredTensor> tensors = std::exchange(shards.back().tensors, {});
  if (wanted == nullptr) {
    for (StoredTensor& tensor : tensors) add_tensor(std::move(tensor));
    return {};
  }
  std::map<std::string_view, StoredTensor*> found;
  for (StoredTensor& tensor : tensors) found[tensor.name] = &tensor;
  for (const std::string& name : *wanted) {
    const auto match = found.find(name);
    if (match == found.end()) return fail(ErrorCode::kCorrupt, "tensor '{}' is not in it", name);
    StoredTensor tensor = *match->second;
    add_tensor(std::move(tensor));
  }
  return {};
}

Result<> WeightStore::Impl::add_source(const std::filesystem::path& folder, const Source& source) {
  if (source.index == nullptr || !has_file(folder / source.index)) return add_file(folder, source.single, nullptr);
  index = source.index;
  const ShardIndex shard_index = TRY(read_shard_index(folder / index, source.suffix));
  for (const auto& [file, tensors] : shard_index) {
    TRY_VOID(add_file(folder, file, &tensors).map_error(within(fmt::format("{} names {}", index, file))));
  }
  return {};
}

Result<> WeightStore::Impl::join_coded(const std::filesystem::path& folder) {
  quantization = TRY(read_quantization_config(folder));
  if (!quantization) return {};
  std::vector<std::string> names;
  for (const auto& [name, known] : slots) names.push_back(name);
  const TensorFinder find = [this](std::string_view name) -> const TensorView* {
    const Slot* found = slot(name);
    return found != nullptr && found->has_known_type ? &found->view : nullptr;
  };
  for (CodedTensor& tensor : TRY(find_coded_tensors(*quantization, names, find))) {
    Slot joined;
    joined.shard = slot(tensor.parts.front())->shard;
    joined.has_known_type = true;
    joined.view = std::move(tensor.view);
    for (const std::string& part : tensor.parts) slots.erase(part);
    slots.insert_or_assign(std::move(tensor.name), std::move(joined));
    matrices.push_back(std::move(tensor.matrix));
  }
  return {};
}

Result<WeightStore> WeightStore::open(const std::filesystem::path& folder) {
  for (const Source& source : kSources) {
    const bool is_there = has_file(folder / source.single) || (source.index != nullptr && has_file(folder / source.index));
    if (!is_there) continue;
    std::unique_ptr<Impl> impl = std::make_unique<Impl>();
    TRY_VOID(impl->add_source(folder, source));
    TRY_VOID(impl->join_coded(folder));
    return WeightStore(std::move(impl));
  }
  return no_weights(folder);
}

Result<WeightStore> WeightStore::open_file(const std::filesystem::path& file) {
  std::unique_ptr<Impl> impl = std::make_unique<Impl>();
  TRY_VOID(impl->add_file(file.parent_path(), file.filename().string(), nullptr));
  return WeightStore(std::move(impl));
}

WeightStore::WeightStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WeightStore::WeightStore(WeightStore&&) noexcept = default;
WeightStore& WeightStore::operator=(WeightStore&&) noexcept = default;
WeightStore::~WeightStore() = default;

const TensorView* WeightStore::find(std::string_view name) const {
  const Slot* slot = impl_->slot(name);
  return slot != nullptr && slot->has_known_type ? &slot->view : nullptr;
}

Result<const TensorView*> WeightStore::get(std::string_view name) const {
  const Slot* slot = impl_->slot(name);
  if (slot == nullptr) return fail(ErrorCode::kCorrupt, "{}: tensor '{}' is missing", file_of(name), name);
  if (!slot->has_known_type) {
    return fail(ErrorCode::kUnsupported, "{}: tensor '{}' has the unknown element type '{}'", file_of(name), name,
                slot->dtype_text);
  }
  return &slot->view;
}

const std::optional<QuantizationConfig>& WeightStore::quantization() const { return impl_->quantization; }

bool WeightStore::contains(std::string_view name) const { return impl_->slot(name) != nullptr; }

std::vector<std::string> WeightStore::names() const {
  std::vector<std::string> result;
  result.reserve(impl_->slots.size());
  for (const auto& [name, slot] : impl_->slots) result.push_back(name);
  return result;
}

uint64_t WeightStore::total_bytes() const { return impl_->total_bytes; }

std::string WeightStore::file_of(std::string_view name) const {
  const Slot* slot = impl_->slot(name);
  if (slot != nullptr) return impl_->shards[slot->shard].name;
  if (impl_->shards.size() == 1) return impl_->shards[0].name;
  return fmt::format("{} shards of {}", impl_->shards.size(), impl_->index);
}

void WeightStore::release(std::string_view name) const {
  const Slot* slot = impl_->slot(name);
  if (slot == nullptr || slot->view.bytes.empty()) return;
  release(slot->view.bytes);
}

void WeightStore::release(std::span<const std::byte> bytes) const {
  for (const WeightPart* part : impl_->parts()) {
    const std::span<const std::byte> file = part->map.bytes();
    const bool is_inside = std::less_equal<>()(file.data(), bytes.data()) &&
                           std::less_equal<>()(bytes.data() + bytes.size(), file.data() + file.size());
    if (is_inside) return part->map.release(static_cast<size_t>(bytes.data() - file.data()), bytes.size());
  }
}

void WeightStore::release_all() const {
  for (const WeightPart* part : impl_->parts()) part->map.release_all();
}

std::string WeightStore::identity() const {
  std::string text;
  for (const WeightFile& shard : impl_->shards) {
    for (const WeightPart& part : shard.parts) {
      const FileStamp& stamp = part.map.stamp();
      text += fmt::format("file {}: {} bytes, modified {}, changed {}, header {:016x}\n", part.name, stamp.size,
                          stamp.modified_ns, stamp.changed_ns, shard.header_checksum);
    }
  }
  return text;
}

bool WeightStore::is_settled() const {
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const std::vector<const WeightPart*> parts = impl_->parts();
  return std::all_of(parts.begin(), parts.end(),
                     [now](const WeightPart* part) { return part->map.stamp().changed_ns + kCoarsestClockNs < now.count(); });
}

}  // namespace inlay
