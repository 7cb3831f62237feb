#include "weights/safetensors_writer.h"

#include <algorithm>
#include <string_view>

#include "base/json_writer.h"
#include "base/output_file.h"

namespace inlay {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr size_t kAlignment = 8;  // the format's, of the first tensor

std::string header_text(const std::vector<TensorToWrite>& tensors, const std::map<std::string, std::string>& metadata) {
  JsonWriter json;
  json.begin_object().key("__metadata__").begin_object();
  for (const auto& [key, value] : metadata) json.key(key).value(value);
  json.end_object();
  uint64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    json.key(tensor.name).begin_object().key("dtype").value(dtype_name(tensor.dtype)).key("shape").begin_array();
    for (const int64_t size : tensor.shape) json.value(size);
    json.end_array()
        .key("data_offsets")
        .begin_array()
        .value(offset)
        .value(offset + tensor.bytes.size())
        .end_array()
        .end_object();
    offset += tensor.bytes.size();
  }
  json.end_object();
  std::string text = json.text();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::string length;
  for (size_t i = 0; i < sizeof(uint64_t); ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  return length + text;
}

}  // namespace

Result<> write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                           const std::map<std::string, std::string>& metadata) {
  OutputFile out = TRY(OutputFile::create(path.string()));
  TRY_VOID(out.write(header_text(tensors, metadata)));
  for (const TensorToWrite& tensor : tensors) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    for (size_t at = 0; at < bytes.size(); at += kWriteBytes) TRY_VOID(out.write(bytes.substr(at, kWriteBytes)));
  }
  return out.commit();
}

}  // namespace inlay
