#include "weights/weight_store.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "weights/coded_tensors.h"
#include "weights/safetensors.h"
#include "weights/shard_index.h"

namespace inlay {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

// File systems count in nanoseconds, ticks of a few milliseconds, or (FAT, old NFS servers) up to two seconds.
constexpr int64_t kCoarsestClockNs = 2'000'000'000;

struct Shard {
  std::string file;
  MappedFile map;
  uint64_t header_checksum = 0;
};

uint64_t header_checksum(std::span<const std::byte> file, const SafetensorsHeader& header) {
  const size_t size = header.tensors.empty() ? file.size() : header.tensors.front().begin;
  Checksum sum;
  sum.add(file.first(size));
  return sum.value();
}

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

// Says what to do when a folder has no safetensors file.
tl::unexpected<Error> no_weights(const std::filesystem::path& folder) {
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack",
                            "model.onnx", "onnx/model.onnx", "rust_model.ot"}) {
    if (!has_file(folder / other)) continue;
    return fail(ErrorCode::kUnsupported,
                "{}: the weights are in {}, and only safetensors files are read; convert them, for instance with "
                "save_pretrained(..., safe_serialization=True) of transformers",
                folder.string(), other);
  }
  return fail(ErrorCode::kNotFound, "{}: neither {} nor {}", folder.string(), kSingleFile, kIndexFile);
}

}  // namespace

struct WeightStore::Impl {
  std::vector<Shard> shards;
  std::map<std::string, Slot, std::less<>> slots;
  uint64_t total_bytes = 0;
  std::optional<QuantizationConfig> quantization;
  std::vector<std::unique_ptr<CodedMatrix>> matrices;  // that views point to

  // Maps one file and adds its tensors: all of them, or those in `wanted`, each of which must be there.
  Result<> add_file(const std::filesystem::path& folder, const std::string& file, const std::vector<std::string>* wanted);

  // Puts each matrix that is made of several tensors in their place.
  Result<> join_coded(const std::filesystem::path& folder);

  const Slot* slot(std::string_view name) const {
    const auto found = slots.find(name);
    return found == slots.end() ? nullptr : &found->second;
  }

 private:
  void add_tensor(SafetensorsEntry entry, std::span<const std::byte> bytes);
};

void WeightStore::Impl::add_tensor(SafetensorsEntry entry, std::span<const std::byte> bytes) {
  Slot slot;
  slot.shard = shards.size() - 1;
  slot.has_known_type = entry.dtype.has_value();
  slot.dtype_text = std::move(entry.dtype_text);
  slot.view.dtype = entry.dtype.value_or(DType::kU8);
  slot.view.shape = std::move(entry.shape);
  slot.view.bytes = bytes.subspan(entry.begin, entry.end - entry.begin);
  total_bytes += slot.view.bytes.size();
  slots.insert_or_assign(std::move(entry.name), std::move(slot));
}

Result<> WeightStore::Impl::add_file(const std::filesystem::path& folder, const std::string& file,
                                     const std::vector<std::string>* wanted) {
  MappedFile map = TRY(MappedFile::open(folder / file));
  const std::span<const std::byte> bytes = map.bytes();
  SafetensorsHeader header = TRY(read_safetensors_header(bytes, file));
  shards.push_back({file, std::move(map), header_checksum(bytes, header)});
  if (wanted == nullptr) {
    for (SafetensorsEntry& entry : header.tensors) add_tensor(std::move(entry), bytes);
    return {};
  }
  std::map<std::string_view, SafetensorsEntry*> found;
  for (SafetensorsEntry& entry : header.tensors) found[entry.name] = &entry;
  for (const std::string& name : *wanted) {
    const auto match = found.find(name);
    if (match == found.end()) return fail(ErrorCode::kCorrupt, "tensor '{}' is not in it", name);
    SafetensorsEntry entry = *match->second;
    add_tensor(std::move(entry), bytes);
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
  std::unique_ptr<Impl> impl = std::make_unique<Impl>();
  if (has_file(folder / kIndexFile)) {
    const ShardIndex index = TRY(read_shard_index(folder / kIndexFile));
    for (const auto& [file, tensors] : index) {
      TRY_VOID(impl->add_file(folder, file, &tensors).map_error(within(fmt::format("{} names {}", kIndexFile, file))));
    }
  } else if (has_file(folder / kSingleFile)) {
    TRY_VOID(impl->add_file(folder, kSingleFile, nullptr));
  } else {
    return no_weights(folder);
  }
  TRY_VOID(impl->join_coded(folder));
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
  if (slot != nullptr) return impl_->shards[slot->shard].file;
  if (impl_->shards.size() == 1) return impl_->shards[0].file;
  return fmt::format("{} shards of {}", impl_->shards.size(), kIndexFile);
}

void WeightStore::release(std::string_view name) const {
  const Slot* slot = impl_->slot(name);
  if (slot == nullptr || slot->view.bytes.empty()) return;
  release(slot->view.bytes);
}

void WeightStore::release(std::span<const std::byte> bytes) const {
  for (const Shard& shard : impl_->shards) {
    const std::span<const std::byte> file = shard.map.bytes();
    const bool is_inside = std::less_equal<>()(file.data(), bytes.data()) &&
                           std::less_equal<>()(bytes.data() + bytes.size(), file.data() + file.size());
    if (is_inside) return shard.map.release(static_cast<size_t>(bytes.data() - file.data()), bytes.size());
  }
}

void WeightStore::release_all() const {
  for (const Shard& shard : impl_->shards) shard.map.release_all();
}

std::string WeightStore::identity() const {
  std::string text;
  for (const Shard& shard : impl_->shards) {
    const FileStamp& stamp = shard.map.stamp();
    text += fmt::format("file {}: {} bytes, modified {}, changed {}, header {:016x}\n", shard.file, stamp.size,
                        stamp.modified_ns, stamp.changed_ns, shard.header_checksum);
  }
  return text;
}

bool WeightStore::is_settled() const {
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  return std::all_of(impl_->shards.begin(), impl_->shards.end(),
                     [now](const Shard& shard) { return shard.map.stamp().changed_ns + kCoarsestClockNs < now.count(); });
}

}  // namespace inlay
