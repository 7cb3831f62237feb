#include "weights/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/json.h"

namespace inlay {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxDim = uint64_t{1} << 48;

static_assert(std::endian::native == std::endian::little, "tensors are used as they lie in the file");

// The header's text, or what is wrong with the bytes around it.
Result<std::string_view> header_text(std::span<const std::byte> file, std::string_view name) {
  if (file.size() < kLengthBytes) {
    return fail(ErrorCode::kCorrupt, "{}: {} bytes, a safetensors file has at least {}", name, file.size(), kLengthBytes);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("version https://git-lfs")) {
    return fail(ErrorCode::kCorrupt, "{}: a Git LFS pointer, not the weights themselves; fetch them with `git lfs pull`", name);
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxSafetensorsHeader) {
    return fail(ErrorCode::kCorrupt, "{}: header length {}, at most {} is allowed", name, length, kMaxSafetensorsHeader);
  }
  if (length > file.size() - kLengthBytes) {
    return fail(ErrorCode::kCorrupt, "{}: header of {} bytes in a file of {}; truncated?", name, length, file.size());
  }
  const std::string_view header = text.substr(kLengthBytes, length);
  if (!header.starts_with('{')) return fail(ErrorCode::kCorrupt, "{}: the header does not start with '{{'", name);
  return header;
}

// What one tensor's object holds; each key may come once.
struct Fields {
  std::optional<simdjson::dom::element> dtype, shape, data_offsets;
};

class HeaderReader {
 public:
  HeaderReader(std::string_view file_name, uint64_t data_begin) : file_name_(file_name), data_begin_(data_begin) {}

  Result<> read(const Json& root) {
    const simdjson::dom::object object = TRY(root.raw_object());
    for (const auto& [key, value] : object) TRY_VOID(read_member(key, value));
    return {};
  }

  SafetensorsHeader take() && { return std::move(header_); }

 private:
  Result<> read_member(std::string_view key, simdjson::dom::element value) {
    if (key.size() > kMaxTensorName) {
      return fail(ErrorCode::kCorrupt, "{}: tensor name of {} bytes, at most {} are allowed", file_name_, key.size(),
                  kMaxTensorName);
    }
    if (!seen_.insert(key).second) return fail(ErrorCode::kCorrupt, "{}: '{}' is listed twice", file_name_, key);
    if (key == "__metadata__") return read_metadata(value);
    if (header_.tensors.size() == kMaxSafetensorsTensors) {
      return fail(ErrorCode::kCorrupt, "{}: more than {} tensors", file_name_, kMaxSafetensorsTensors);
    }
    header_.tensors.push_back(TRY(read_tensor(key, value)));
    return {};
  }

  Result<> read_metadata(simdjson::dom::element value) {
    const Json metadata(value, fmt::format("{}: __metadata__", file_name_));
    for (const auto& [key, text] : TRY(metadata.members())) header_.metadata[std::string(key)] = TRY(text.as_string());
    return {};
  }

  Result<SafetensorsEntry> read_tensor(std::string_view name, simdjson::dom::element value) const {
    const Fields fields = TRY(fields_of(name, value));
    SafetensorsEntry entry;
    entry.name = name;
    std::string_view dtype;
    if (fields.dtype->get_string().get(dtype) != simdjson::SUCCESS || dtype.size() > kMaxTensorName) {
      return wrong(name, "dtype is no name");
    }
    entry.dtype_text = dtype;
    entry.dtype = dtype_from_name(dtype);
    entry.shape = TRY(shape_of(name, *fields.shape));
    TRY_VOID(read_offsets(*fields.data_offsets, entry));
    TRY_VOID(check_size(entry));
    return entry;
  }

  Result<Fields> fields_of(std::string_view name, simdjson::dom::element value) const {
    simdjson::dom::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return wrong(name, "wanted an object");
    Fields fields;
    for (const auto& [key, member] : object) {
      std::optional<simdjson::dom::element>* const field = key == "dtype"          ? &fields.dtype
                                                           : key == "shape"        ? &fields.shape
                                                           : key == "data_offsets" ? &fields.data_offsets
                                                                                   : nullptr;
      if (field == nullptr) continue;
      if (field->has_value()) return wrong(name, fmt::format("{} is given twice", key));
      *field = member;
    }
    if (!fields.dtype || !fields.shape || !fields.data_offsets) return wrong(name, "wanted dtype, shape and data_offsets");
    return fields;
  }

  Result<std::vector<int64_t>> shape_of(std::string_view name, simdjson::dom::element value) const {
    simdjson::dom::array dims;
    if (value.get_array().get(dims) != simdjson::SUCCESS) return wrong(name, "shape is no array");
    std::vector<int64_t> shape;
    for (const simdjson::dom::element dim : dims) {
      uint64_t size = 0;
      if (shape.size() == kMaxSafetensorsRank) {
        return wrong(name, fmt::format("more than {} dimensions", kMaxSafetensorsRank));
      }
      if (dim.get_uint64().get(size) != simdjson::SUCCESS || size > kMaxDim) {
        return wrong(name, fmt::format("shape[{}] is no size up to 2^48", shape.size()));
      }
      shape.push_back(static_cast<int64_t>(size));
    }
    return shape;
  }

  Result<> read_offsets(simdjson::dom::element value, SafetensorsEntry& entry) const {
    simdjson::dom::array offsets;
    if (value.get_array().get(offsets) != simdjson::SUCCESS) return wrong(entry.name, "data_offsets is no array");
    std::array<uint64_t, 2> bounds = {};
    size_t count = 0;
    for (const simdjson::dom::element offset : offsets) {
      if (count == bounds.size()) return wrong(entry.name, "data_offsets has more than two numbers");
      if (offset.get_uint64().get(bounds[count++]) != simdjson::SUCCESS) {
        return wrong(entry.name, "data_offsets holds something that is no unsigned integer");
      }
    }
    if (count != bounds.size()) return wrong(entry.name, "data_offsets has fewer than two numbers");
    if (bounds[0] > bounds[1]) return wrong(entry.name, fmt::format("begins at {} and ends at {}", bounds[0], bounds[1]));
    if (__builtin_add_overflow(bounds[0], data_begin_, &entry.begin) ||
        __builtin_add_overflow(bounds[1], data_begin_, &entry.end)) {
      return wrong(entry.name, fmt::format("ends at {}, beyond any file", bounds[1]));
    }
    return {};
  }

  // The shape must fill [begin, end) exactly. Also bounds the number of elements for everybody who multiplies the shape later,
  // so it is done in the order of TensorView::element_count and for unknown types too.
  Result<> check_size(const SafetensorsEntry& entry) const {
    int64_t elements = 1;
    for (const int64_t dim : entry.shape) {
      if (__builtin_mul_overflow(elements, dim, &elements)) return wrong(entry.name, "shape has too many elements");
    }
    if (!entry.dtype) return {};
    uint64_t bits = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(elements), dtype_bits(*entry.dtype), &bits)) {
      return wrong(entry.name, "shape has too many elements");
    }
    if (bits % 8 != 0 || bits / 8 != entry.end - entry.begin) {
      return wrong(entry.name, fmt::format("{} elements of {} take {} bits, data_offsets give {} bytes", elements,
                                           entry.dtype_text, bits, entry.end - entry.begin));
    }
    return {};
  }

  tl::unexpected<Error> wrong(std::string_view tensor, std::string_view what) const {
    return fail(ErrorCode::kCorrupt, "{}: tensor '{}': {}", file_name_, tensor, what);
  }

  std::string_view file_name_;
  uint64_t data_begin_;
  SafetensorsHeader header_;
  std::unordered_set<std::string_view> seen_;  // keys live in the JSON document
};

// Exact tiling: the first tensor begins where the header ends, each next one where the last ended, and the file ends there.
Result<> check_tiling(std::span<const SafetensorsEntry> tensors, uint64_t data_begin, uint64_t file_size,
                      std::string_view name) {
  uint64_t position = data_begin;
  for (const SafetensorsEntry& tensor : tensors) {
    if (tensor.begin != position) {
      return fail(ErrorCode::kCorrupt, "{}: tensor '{}' begins at byte {}, but the one before it ends at {}", name, tensor.name,
                  tensor.begin, position);
    }
    position = tensor.end;
    if (position > file_size) {
      return fail(ErrorCode::kCorrupt, "{}: tensor '{}' ends at byte {} of a file of {}; truncated?", name, tensor.name,
                  tensor.end, file_size);
    }
  }
  if (position != file_size) {
    return fail(ErrorCode::kCorrupt, "{}: tensors end at byte {}, the file has {}", name, position, file_size);
  }
  return {};
}

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(std::span<const std::byte> file, std::string_view name) {
  const std::string_view text = TRY(header_text(file, name));
  const JsonDocument document = TRY(JsonDocument::parse(text, fmt::format("{} header", name)));
  const uint64_t data_begin = kLengthBytes + text.size();
  HeaderReader reader(name, data_begin);
  TRY_VOID(reader.read(document.root()));
  SafetensorsHeader header = std::move(reader).take();
  std::sort(header.tensors.begin(), header.tensors.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  TRY_VOID(check_tiling(header.tensors, data_begin, file.size(), name));
  return header;
}

}  // namespace inlay
