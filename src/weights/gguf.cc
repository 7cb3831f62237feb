#include "weights/gguf.h"

#include <array>
#include <unordered_set>
#include <utility>

#include "weights/byte_reader.h"

namespace inlay {
namespace {

constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = 1 << 20;

// Types of values.
enum ValueType : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };

struct TensorType {
  uint32_t id;
  DType dtype;
};
constexpr std::array<TensorType, 16> kTensorTypes = {{
    {0, DType::kF32},
    {1, DType::kF16},
    {2, DType::kQ4_0},
    {3, DType::kQ4_1},
    {6, DType::kQ5_0},
    {7, DType::kQ5_1},
    {8, DType::kQ8_0},
    {12, DType::kQ4K},
    {13, DType::kQ5K},
    {14, DType::kQ6K},
    {24, DType::kI8},
    {25, DType::kI16},
    {26, DType::kI32},
    {27, DType::kI64},
    {28, DType::kF64},
    {30, DType::kBF16},
}};

std::optional<DType> tensor_type(uint32_t id) {
  for (const TensorType& type : kTensorTypes) {
    if (type.id == id) return type.dtype;
  }
  return std::nullopt;
}

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), reader_(bytes), name_(name) {}

  Result<GgufFile> read() {
    const std::optional<std::string_view> magic = reader_.take_text(4);
    const std::optional<uint32_t> version = reader_.take<uint32_t>();
    const std::optional<uint64_t> tensors = reader_.take<uint64_t>();
    const std::optional<uint64_t> facts = reader_.take<uint64_t>();
    if (!facts) return truncated();
    if (*magic != "GGUF") return fail(ErrorCode::kCorrupt, "{}: no GGUF file", name_);
    if (*version != 2 && *version != 3)
      return fail(ErrorCode::kUnsupported, "{}: GGUF version {}, wanted 2 or 3", name_, *version);
    if (*facts > kMaxGgufFacts || *tensors > kMaxStoredTensors) {
      return corrupt(fmt::format("{} facts and {} tensors, at most {} and {} are allowed", *facts, *tensors, kMaxGgufFacts,
                                 kMaxStoredTensors));
    }
    for (uint64_t i = 0; i < *facts; ++i) TRY_VOID(read_fact());
    for (uint64_t i = 0; i < *tensors; ++i) TRY_VOID(read_tensor());
    TRY_VOID(place_tensors());
    return std::move(file_);
  }

 private:
  tl::unexpected<Error> corrupt(std::string_view what) const { return fail(ErrorCode::kCorrupt, "{}: {}", name_, what); }
  tl::unexpected<Error> truncated() const {
    return corrupt(fmt::format("the table of contents ends at byte {}; truncated?", reader_.position()));
  }

  Result<std::string_view> read_text() {
    const std::optional<uint64_t> size = reader_.take<uint64_t>();
    const std::optional<std::string_view> text = size ? reader_.take_text(*size) : std::nullopt;
    if (!text) return truncated();
    return *text;
  }

  Result<> read_fact() {
    const std::string_view key = TRY(read_text());
    const std::optional<uint32_t> type = reader_.take<uint32_t>();
    if (!type) return truncated();
    GgufValue value = TRY(*type == kArray ? read_array() : read_value(*type));
    if (!file_.facts.emplace(key, std::move(value)).second)
      return corrupt(fmt::format("'{}' is given twice", key.substr(0, 200)));
    return {};
  }

  template <class T>
  Result<GgufValue> read_int(GgufValue::Kind kind) {
    const std::optional<T> number = reader_.take<T>();
    if (!number) return truncated();
    return GgufValue{.kind = kind, .number = static_cast<int64_t>(*number)};
  }
  template <class T>
  Result<GgufValue> read_real() {
    const std::optional<T> number = reader_.take<T>();
    if (!number) return truncated();
    return GgufValue{.kind = GgufValue::Kind::kReal, .real = static_cast<double>(*number)};
  }

  Result<GgufValue> read_value(uint32_t type) {
    switch (type) {
      case kU8: return read_int<uint8_t>(GgufValue::Kind::kInt);
      case kI8: return read_int<int8_t>(GgufValue::Kind::kInt);
      case kU16: return read_int<uint16_t>(GgufValue::Kind::kInt);
      case kI16: return read_int<int16_t>(GgufValue::Kind::kInt);
      case kU32: return read_int<uint32_t>(GgufValue::Kind::kInt);
      case kI32: return read_int<int32_t>(GgufValue::Kind::kInt);
      case kU64: return read_int<uint64_t>(GgufValue::Kind::kInt);
      case kI64: return read_int<int64_t>(GgufValue::Kind::kInt);
      case kBool: return read_int<uint8_t>(GgufValue::Kind::kBool);
      case kF32: return read_real<float>();
      case kF64: return read_real<double>();
      case kText: return GgufValue{.kind = GgufValue::Kind::kText, .text = TRY(read_text())};
      default: return corrupt(fmt::format("a value of type {}", type));
    }
  }

  // Elements are read one by one, and each takes at least a byte of the file, so a hostile count ends at the file's end.
  Result<GgufValue> read_array() {
    const std::optional<uint32_t> type = reader_.take<uint32_t>();
    const std::optional<uint64_t> count = reader_.take<uint64_t>();
    if (!count) return truncated();
    if (*type == kArray) return corrupt("an array of arrays");
    if (*count > reader_.left()) return truncated();
    GgufValue array = {.kind = *type == kText ? GgufValue::Kind::kTexts : GgufValue::Kind::kNumbers};
    for (uint64_t i = 0; i < *count; ++i) {
      const GgufValue value = TRY(read_value(*type));
      if (*type == kText) {
        array.texts.push_back(value.text);
      } else {
        array.numbers.push_back(value.kind == GgufValue::Kind::kReal ? static_cast<float>(value.real)
                                                                     : static_cast<float>(value.number));
      }
    }
    return array;
  }

  Result<> read_tensor() {
    StoredTensor tensor;
    tensor.name = TRY(read_text());
    if (tensor.name.size() > kMaxStoredName) return corrupt(fmt::format("a tensor name of {} bytes", tensor.name.size()));
    if (!seen_.insert(tensor.name).second) return corrupt(fmt::format("tensor '{}' is listed twice", tensor.name));
    const std::optional<uint32_t> rank = reader_.take<uint32_t>();
    if (!rank) return truncated();
    if (*rank > kMaxStoredRank) return corrupt(fmt::format("tensor '{}' has {} dimensions", tensor.name, *rank));
    tensor.shape.resize(*rank);
    for (size_t dim = *rank; dim-- > 0;) {
      const std::optional<uint64_t> size = reader_.take<uint64_t>();
      if (!size) return truncated();
      if (*size > kMaxStoredDim) return corrupt(fmt::format("tensor '{}' has a dimension of {}", tensor.name, *size));
      tensor.shape[dim] = static_cast<int64_t>(*size);
    }
    const std::optional<uint32_t> type = reader_.take<uint32_t>();
    const std::optional<uint64_t> offset = reader_.take<uint64_t>();
    if (!offset) return truncated();
    tensor.dtype = tensor_type(*type);
    tensor.dtype_text = fmt::format("GGML type {}", *type);
    tensor.begin = *offset;
    file_.tensors.push_back(std::move(tensor));
    return {};
  }

  // Offsets count from the end of the table of contents, rounded up.
  Result<> place_tensors() {
    const int64_t wanted = file_.integer("general.alignment").value_or(kDefaultAlignment);
    if (wanted < 1 || static_cast<uint64_t>(wanted) > kMaxAlignment) return corrupt(fmt::format("an alignment of {}", wanted));
    const uint64_t alignment = static_cast<uint64_t>(wanted);
    const uint64_t data = (reader_.position() + alignment - 1) / alignment * alignment;
    for (StoredTensor& tensor : file_.tensors) {
      uint64_t begin = 0;
      if (__builtin_add_overflow(data, tensor.begin, &begin)) return corrupt("a tensor beyond any file");
      if (tensor.dtype) {
        TRY_VOID(place_row_major(tensor, *tensor.dtype, begin, bytes_.size()).map_error(within(std::string(name_))));
      } else {
        TRY_VOID(stored_bytes(DType::kU8, tensor.shape).map_error(within(std::string(name_))));
        tensor.begin = tensor.end = 0;
      }
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  ByteReader reader_;
  std::string_view name_;
  GgufFile file_;
  std::unordered_set<std::string> seen_;
};

const GgufValue* find(const GgufFile& file, std::string_view key, GgufValue::Kind kind) {
  const auto found = file.facts.find(key);
  return found != file.facts.end() && found->second.kind == kind ? &found->second : nullptr;
}

}  // namespace

std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(*this, key, GgufValue::Kind::kInt);
  return value != nullptr ? std::optional(value->number) : std::nullopt;
}
std::optional<double> GgufFile::real(std::string_view key) const {
  if (const GgufValue* value = find(*this, key, GgufValue::Kind::kReal)) return value->real;
  const std::optional<int64_t> whole = integer(key);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}
std::optional<bool> GgufFile::flag(std::string_view key) const {
  const GgufValue* value = find(*this, key, GgufValue::Kind::kBool);
  return value != nullptr ? std::optional(value->number != 0) : std::nullopt;
}
std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  const GgufValue* value = find(*this, key, GgufValue::Kind::kText);
  return value != nullptr ? std::optional(value->text) : std::nullopt;
}
std::span<const std::string_view> GgufFile::texts(std::string_view key) const {
  const GgufValue* value = find(*this, key, GgufValue::Kind::kTexts);
  return value != nullptr ? std::span(value->texts) : std::span<const std::string_view>();
}
std::span<const float> GgufFile::numbers(std::string_view key) const {
  const GgufValue* value = find(*this, key, GgufValue::Kind::kNumbers);
  return value != nullptr ? std::span(value->numbers) : std::span<const float>();
}
const StoredTensor* GgufFile::tensor(std::string_view name) const {
  for (const StoredTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<GgufFile> read_gguf(std::span<const std::byte> file, std::string_view name) { return GgufReader(file, name).read(); }

}  // namespace inlay
