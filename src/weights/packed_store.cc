#include "weights/packed_store.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/checksum.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/output_file.h"
#include "weights/safetensors.h"

namespace inlay {
namespace {

constexpr const char* kKeyField = "inlay_key";
constexpr const char* kChecksumField = "inlay_checksum";
constexpr size_t kBlobAlignment = 64;  // of blobs in the file; that of a Buffer, which kernels rely on
constexpr size_t kBlobWriteBytes = size_t{128} << 10;
static_assert(kBlobAlignment == Checksum::kBlock, "so that the sum of the padded blobs is the sum of the data section");

size_t padded(size_t size) { return (size + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment; }

std::string checksum_text(const Checksum& sum) { return fmt::format("{:016x}", sum.value()); }

const std::string& field_or_empty(const SafetensorsHeader& header, const char* name) {
  static const std::string kNone;
  const std::map<std::string, std::string>::const_iterator found = header.metadata.find(name);
  return found == header.metadata.end() ? kNone : found->second;
}

// The header of a file with these blobs, from its length to the spaces that align the data.
std::string header_text(std::span<const std::pair<std::string, std::span<const std::byte>>> blobs, std::string_view key) {
  Checksum sum;
  for (const auto& [name, bytes] : blobs) sum.add(bytes);
  JsonWriter json;
  json.begin_object().key("__metadata__").begin_object();
  json.key(kKeyField).value(key).key(kChecksumField).value(checksum_text(sum)).end_object();
  uint64_t offset = 0;
  for (const auto& [name, bytes] : blobs) {
    const uint64_t size = padded(bytes.size());
    json.key(name).begin_object().key("dtype").value("U8").key("shape").begin_array().value(size).end_array();
    json.key("data_offsets").begin_array().value(offset).value(offset + size).end_array().end_object();
    offset += size;
  }
  json.end_object();
  std::string text = json.text();
  text.resize(padded(sizeof(uint64_t) + text.size()) - sizeof(uint64_t), ' ');
  std::string length;
  for (size_t i = 0; i < sizeof(uint64_t); ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  return length + text;
}

Result<> write_blob(OutputFile& out, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = 0; at < text.size(); at += kBlobWriteBytes) TRY_VOID(out.write(text.substr(at, kBlobWriteBytes)));
  return out.write(std::string(padded(text.size()) - text.size(), '\0'));
}

}  // namespace

PackedStore PackedStore::open(std::filesystem::path file, std::string key) {
  PackedStore store(std::move(file), std::move(key));
  const Result<> done = store.read();
  if (done) return store;
  store.map_.reset();
  store.stored_.clear();
  if (done.error().code == ErrorCode::kNotFound) {
    spdlog::info("weight cache: {} is not there yet", store.file_.string());
  } else {
    spdlog::warn("weight cache: not used, {}", done.error().message);
  }
  return store;
}

Result<> PackedStore::read() {
  map_ = TRY(MappedFile::open(file_));
  const std::string name = file_.string();
  if (!map_->stamp().is_trusted) {
    return fail(ErrorCode::kInvalidArgument, "{}: others than its owner may write to it, or the owner is another user", name);
  }
  const std::span<const std::byte> bytes = map_->bytes();
  const SafetensorsHeader header = TRY(read_safetensors_header(bytes, name));
  if (field_or_empty(header, kKeyField) != key_) {
    return fail(ErrorCode::kInvalidArgument, "{}: it was made of other files or for other kernels", name);
  }
  size_t data = bytes.size();
  for (const SafetensorsEntry& entry : header.tensors) {
    if (entry.begin % kBlobAlignment != 0)
      return fail(ErrorCode::kCorrupt, "{}: {} begins at byte {}", name, entry.name, entry.begin);
    stored_[entry.name] = bytes.subspan(entry.begin, entry.end - entry.begin);
    data = std::min<size_t>(data, entry.begin);
  }
  Checksum sum;
  sum.add(bytes.subspan(data));
  const std::string& wanted = field_or_empty(header, kChecksumField);
  if (checksum_text(sum) == wanted) return {};
  return fail(ErrorCode::kCorrupt, "{}: checksum {}, the header says {}", name, checksum_text(sum), wanted);
}

std::optional<std::span<const std::byte>> PackedStore::find(std::string_view name, size_t size) const {
  const auto found = stored_.find(name);
  if (found == stored_.end() || found->second.size() != padded(size)) return std::nullopt;
  return found->second.first(size);
}

void PackedStore::keep(const std::string& name, std::span<const std::byte> bytes) {
  const std::optional<std::span<const std::byte>> stored = find(name, bytes.size());
  if (!stored || stored->data() != bytes.data()) is_changed_ = true;
  kept_.emplace_back(name, bytes);
}

Result<> PackedStore::save() {
  if (!is_changed_) return {};
  std::error_code error;
  if (file_.has_parent_path()) std::filesystem::create_directories(file_.parent_path(), error);
  if (error) return fail(ErrorCode::kInvalidArgument, "{}: {}", file_.parent_path().string(), error.message());
  // Whoever else may write to the folder cannot write to the file, or open() would not trust it.
  OutputFile out = TRY(OutputFile::create(file_.string(), 0644));
  TRY_VOID(out.write(header_text(kept_, key_)));
  for (const auto& [name, bytes] : kept_) TRY_VOID(write_blob(out, bytes));
  TRY_VOID(out.commit());
  is_changed_ = false;
  return {};
}

}  // namespace inlay
