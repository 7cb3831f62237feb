#include "weights/weight_file.h"

#include <utility>

#include "base/checksum.h"
#include "weights/gguf.h"
#include "weights/onnx.h"
#include "weights/safetensors.h"
#include "weights/torch_file.h"

namespace inlay {
namespace {

uint64_t checksum_of(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

// Of what is known about the tensors, for formats whose headers are spread over the file.
uint64_t checksum_of(std::span<const StoredTensor> tensors) {
  std::string text;
  for (const StoredTensor& tensor : tensors) {
    text += fmt::format("{} {} {} {} {} {} {}\n", tensor.name, tensor.dtype_text, fmt::join(tensor.shape, ","),
                        fmt::join(tensor.strides, ","), tensor.part, tensor.begin, tensor.end);
  }
  return checksum_of(std::as_bytes(std::span(text)));
}

Result<> read_safetensors(WeightFile& file) {
  const std::span<const std::byte> bytes = file.parts[0].map.bytes();
  SafetensorsHeader header = TRY(read_safetensors_header(bytes, file.name));
  file.header_checksum = checksum_of(header.tensors.empty() ? bytes : bytes.first(header.tensors.front().begin));
  file.tensors.reserve(header.tensors.size());
  for (SafetensorsEntry& entry : header.tensors) {
    file.tensors.push_back({.name = std::move(entry.name),
                            .dtype = entry.dtype,
                            .dtype_text = std::move(entry.dtype_text),
                            .shape = std::move(entry.shape),
                            .begin = entry.begin,
                            .end = entry.end});
  }
  return {};
}

// Number of the part `location`, which is opened if it isn't yet.
Result<size_t> part_of(const std::filesystem::path& folder, const std::string& location, WeightFile& file) {
  constexpr size_t kMaxParts = 4096;  // The kernel's default is 65530 maps for a process.
  for (size_t part = 1; part < file.parts.size(); ++part) {
    if (file.parts[part].name == location) return part;
  }
  if (file.parts.size() > kMaxParts) return fail(ErrorCode::kCorrupt, "{}: more than {} external files", file.name, kMaxParts);
  MappedFile map = TRY(MappedFile::open(folder / location).map_error(within(fmt::format("{} names {}", file.name, location))));
  file.parts.push_back({location, std::move(map)});
  return file.parts.size() - 1;
}

Result<> read_onnx_parts(const std::filesystem::path& folder, WeightFile& file) {
  std::vector<OnnxTensor> tensors = TRY(read_onnx(file.parts[0].map.bytes(), file.name));
  for (OnnxTensor& tensor : tensors) {
    if (!tensor.location.empty()) {
      tensor.stored.part = TRY(part_of(folder, tensor.location, file));
      const uint64_t size = file.parts[tensor.stored.part].map.bytes().size();
      if (tensor.stored.end > size) {
        return fail(ErrorCode::kCorrupt, "{}: tensor '{}' ends at byte {} of {}, which has {}; truncated?", file.name,
                    tensor.stored.name, tensor.stored.end, tensor.location, size);
      }
    }
    file.tensors.push_back(std::move(tensor.stored));
  }
  return {};
}

}  // namespace

Result<WeightFile> open_weight_file(const std::filesystem::path& folder, const std::string& name) {
  MappedFile map = TRY(MappedFile::open(folder / name));
  WeightFile file = {.name = name, .parts = {}, .tensors = {}};
  file.parts.push_back({name, std::move(map)});
  if (name.ends_with(".safetensors")) {
    TRY_VOID(read_safetensors(file));
    return file;
  }
  if (name.ends_with(".gguf")) {
    GgufFile gguf = TRY(read_gguf(file.parts[0].map.bytes(), name));
    TRY_VOID(rename_gguf_tensors(gguf, name));
    file.tensors = std::move(gguf.tensors);
  } else if (name.ends_with(".onnx")) {
    TRY_VOID(read_onnx_parts((folder / name).parent_path(), file));
  } else {
    file.tensors = TRY(read_torch_file(file.parts[0].map.bytes(), name));
  }
  file.header_checksum = checksum_of(file.tensors);
  return file;
}

}  // namespace inlay
