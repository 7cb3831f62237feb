#include "weights/weight_file.h"

#include <utility>

#include "base/checksum.h"
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
    text += fmt::format("{} {} {} {} {} {}\n", tensor.name, tensor.dtype_text, fmt::join(tensor.shape, ","),
                        fmt::join(tensor.strides, ","), tensor.begin, tensor.end);
  }
  return checksum_of(std::as_bytes(std::span(text)));
}

Result<> read_safetensors(WeightFile& file) {
  const std::span<const std::byte> bytes = file.map.bytes();
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

}  // namespace

Result<WeightFile> open_weight_file(const std::filesystem::path& folder, const std::string& name) {
  WeightFile file = {name, TRY(MappedFile::open(folder / name)), {}, 0};
  if (name.ends_with(".safetensors")) {
    TRY_VOID(read_safetensors(file));
    return file;
  }
  file.tensors = TRY(read_torch_file(file.map.bytes(), name));
  file.header_checksum = checksum_of(file.tensors);
  return file;
}

}  // namespace inlay
