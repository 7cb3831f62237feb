// In the zip form, <folder>/data.pkl is the pickle and <folder>/data/<key> are the bytes of a storage. In the form before it,
// the file is a row of pickles (a magic number, a version, facts about the writer, the object, the keys of its storages), and
// after them each storage lies behind its number of elements.
#include "weights/torch_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>

#include "weights/byte_reader.h"
#include "weights/pickle.h"
#include "weights/zip_directory.h"

namespace inlay {
namespace {

using Kind = PickleNode::Kind;

// Names that a pickle of tensors may use. The last part of a type's name says the element type.
constexpr std::array<std::string_view, 32> kGlobals = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch._utils _rebuild_parameter",
    "torch._tensor _rebuild_from_type_v2",
    "torch.nn.parameter Parameter",
    "torch Tensor",
    "torch Size",
    "torch device",
    "torch FloatStorage",
    "torch HalfStorage",
    "torch BFloat16Storage",
    "torch DoubleStorage",
    "torch LongStorage",
    "torch IntStorage",
    "torch ShortStorage",
    "torch CharStorage",
    "torch ByteStorage",
    "torch BoolStorage",
    "torch.storage UntypedStorage",
    "torch float32",
    "torch float16",
    "torch bfloat16",
    "torch float64",
    "torch int64",
    "torch int32",
    "torch uint8",
    "torch int8",
    "torch uint16",
    "torch uint32",
    "torch uint64",
};

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<TypeName, 22> kTypes = {{
    {"torch FloatStorage", DType::kF32},  {"torch HalfStorage", DType::kF16}, {"torch BFloat16Storage", DType::kBF16},
    {"torch DoubleStorage", DType::kF64}, {"torch LongStorage", DType::kI64}, {"torch IntStorage", DType::kI32},
    {"torch ShortStorage", DType::kI16},  {"torch CharStorage", DType::kI8},  {"torch ByteStorage", DType::kU8},
    {"torch BoolStorage", DType::kBool},  {"torch float32", DType::kF32},     {"torch float16", DType::kF16},
    {"torch bfloat16", DType::kBF16},     {"torch float64", DType::kF64},     {"torch int64", DType::kI64},
    {"torch int32", DType::kI32},         {"torch uint8", DType::kU8},        {"torch int8", DType::kI8},
    {"torch uint16", DType::kU16},        {"torch uint32", DType::kU32},      {"torch.storage UntypedStorage", DType::kU8},
    {"torch uint64", DType::kU64},
}};

// Where a checkpoint keeps the weights among other things.
constexpr std::array<std::string_view, 3> kWrappers = {"state_dict", "model_state_dict", "model"};
constexpr int kMostWrappers = 3;  // a tensor inside of Parameters and types

// Bytes of the file that hold a storage.
struct StoragePlace {
  uint64_t begin = 0;
  uint64_t end = 0;
};
using StoragePlaces = std::map<std::string_view, StoragePlace, std::less<>>;

std::optional<DType> type_named(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.dtype;
  }
  return std::nullopt;
}

std::string printable_path(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, '?');
  return result;
}

// Turns the nodes of one pickle into tensors.
class TensorReader {
 public:
  TensorReader(const Pickle& pickle, const StoragePlaces& storages, std::string_view file_name)
      : pickle_(pickle), storages_(storages), file_name_(file_name) {}

  Result<std::vector<StoredTensor>> read() {
    const PickleNode* dict = &pickle_.at(pickle_.root);
    if (dict->kind != Kind::kDict) return corrupt("it holds no dictionary of tensors");
    if (!holds_tensors(*dict)) dict = unwrap(*dict);
    std::vector<StoredTensor> tensors;
    std::unordered_set<std::string_view> seen;
    for (size_t i = 0; i + 1 < dict->items.size(); i += 2) {
      const PickleNode& key = pickle_.at(dict->items[i]);
      if (key.kind != Kind::kText || !is_tensor(pickle_.at(dict->items[i + 1]))) continue;
      if (key.text.size() > kMaxStoredName) return corrupt(fmt::format("a tensor name of {} bytes", key.text.size()));
      if (!seen.insert(key.text).second) return corrupt(fmt::format("tensor '{}' is listed twice", printable_path(key.text)));
      if (tensors.size() == kMaxStoredTensors) return corrupt(fmt::format("more than {} tensors", kMaxStoredTensors));
      const std::string where = fmt::format("{}: tensor '{}'", file_name_, printable_path(key.text));
      tensors.push_back(TRY(read_tensor(pickle_.at(dict->items[i + 1])).map_error(within(where))));
      tensors.back().name = key.text;
    }
    if (tensors.empty() && !dict->items.empty()) return corrupt("its dictionary holds no tensors");
    return tensors;
  }

 private:
  tl::unexpected<Error> corrupt(std::string_view what) const {
    return fail(ErrorCode::kCorrupt, "{}: pickle: {}", file_name_, what);
  }
  static tl::unexpected<Error> wrong(std::string_view what) { return fail(ErrorCode::kCorrupt, "{}", what); }

  // A tensor is a call of a function that rebuilds one, however it is wrapped.
  bool is_tensor(const PickleNode& node) const {
    return node.kind == Kind::kCall && pickle_.at(node.items[0]).text.find("_rebuild_") != std::string_view::npos;
  }

  bool holds_tensors(const PickleNode& dict) const {
    for (size_t i = 1; i < dict.items.size(); i += 2) {
      if (is_tensor(pickle_.at(dict.items[i]))) return true;
    }
    return false;
  }

  const PickleNode* unwrap(const PickleNode& dict) const {
    for (const std::string_view wanted : kWrappers) {
      for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
        const PickleNode& key = pickle_.at(dict.items[i]);
        const PickleNode& value = pickle_.at(dict.items[i + 1]);
        if (key.kind == Kind::kText && key.text == wanted && value.kind == Kind::kDict) return &value;
      }
    }
    return &dict;
  }

  // The nodes of the arguments of a call, or of a sequence.
  std::vector<const PickleNode*> parts_of(const PickleNode& node) const {
    std::vector<const PickleNode*> parts;
    const PickleNode& list = node.kind == Kind::kCall ? pickle_.at(node.items[1]) : node;
    for (const uint32_t item : list.items) {
      if (parts.size() > kMaxStoredRank) break;  // No call and no shape that is read has more.
      parts.push_back(&pickle_.at(item));
    }
    return parts;
  }

  Result<StoredTensor> read_tensor(const PickleNode& node) const {
    const PickleNode* inner = &node;
    for (int depth = 0; depth < kMostWrappers; ++depth) {
      const std::string_view function = pickle_.at(inner->items[0]).text;
      const std::vector<const PickleNode*> arguments = parts_of(*inner);
      if (function.ends_with("_rebuild_parameter") && !arguments.empty()) {
        inner = arguments[0];
      } else if (function.ends_with("_rebuild_from_type_v2")) {
        // (function, type, arguments, state): the call that it stands for lies in its parts.
        if (arguments.size() < 3 || arguments[0]->kind != Kind::kGlobal)
          return wrong("a subclass of tensors without its tensor");
        return rebuild(arguments[0]->text, parts_of(*arguments[2]));
      } else {
        return rebuild(function, arguments);
      }
      if (!is_tensor(*inner)) return wrong("a parameter of something that is no tensor");
    }
    return wrong("too many wrappers around a tensor");
  }

  // (storage, offset, size, stride, ...), and in v3 the element type seventh.
  Result<StoredTensor> rebuild(std::string_view function, const std::vector<const PickleNode*>& arguments) const {
    if (function.find("_rebuild_tensor") == std::string_view::npos) return wrong("a tensor made in a way that isn't known");
    if (arguments.size() < 4) return wrong(fmt::format("{} arguments, wanted 4 or more", arguments.size()));
    StoredTensor tensor;
    tensor.shape = TRY(sizes_of(*arguments[2]));
    tensor.strides = TRY(sizes_of(*arguments[3]));
    if (tensor.strides.size() != tensor.shape.size()) return wrong("as many strides as sizes are wanted");
    if (arguments[1]->kind != Kind::kInt || arguments[1]->number < 0) return wrong("no offset into its storage");
    Storage storage = TRY(storage_of(*arguments[0]));
    if (function.ends_with("_v3")) {
      if (arguments.size() < 7 || arguments[6]->kind != Kind::kGlobal) return wrong("no element type");
      storage.dtype = type_named(arguments[6]->text);
    }
    if (!storage.dtype) return wrong("an element type that isn't known");
    TRY_VOID(place(tensor, storage, static_cast<uint64_t>(arguments[1]->number)));
    return tensor;
  }

  Result<std::vector<int64_t>> sizes_of(const PickleNode& node) const {
    std::vector<int64_t> sizes;
    if (node.kind != Kind::kSequence && node.kind != Kind::kCall) return wrong("a shape that is no tuple");
    std::vector<const PickleNode*> parts = parts_of(node);
    // torch.Size([2, 3]) is a call with one list.
    if (node.kind == Kind::kCall && parts.size() == 1) parts = parts_of(*parts[0]);
    for (const PickleNode* part : parts) {
      if (part->kind != Kind::kInt || part->number < 0 || static_cast<uint64_t>(part->number) > kMaxStoredDim) {
        return wrong("a size that is no number up to 2^48");
      }
      sizes.push_back(part->number);
    }
    if (sizes.size() > kMaxStoredRank) return wrong(fmt::format("more than {} dimensions", kMaxStoredRank));
    return sizes;
  }

  struct Storage {
    StoragePlace place;
    std::optional<DType> dtype;
  };

  // ("storage", type, key, device, elements)
  Result<Storage> storage_of(const PickleNode& node) const {
    if (node.kind != Kind::kPersistent) return wrong("no storage");
    const std::vector<const PickleNode*> id = parts_of(pickle_.at(node.items[0]));
    if (id.size() < 5 || id[0]->text != "storage" || id[1]->kind != Kind::kGlobal || id[2]->kind != Kind::kText ||
        id[4]->kind != Kind::kInt) {
      return wrong("a storage that isn't described as one");
    }
    const std::optional<DType> dtype = type_named(id[1]->text);
    if (!dtype) return wrong(fmt::format("a storage of '{}'", id[1]->text));
    const auto found = storages_.find(id[2]->text);
    if (found == storages_.end()) return wrong(fmt::format("its storage '{}' is not in the file", printable_path(id[2]->text)));
    return Storage{found->second, dtype};
  }

  // Checks that all elements lie in the storage and finds the tensor's bytes.
  static Result<> place(StoredTensor& tensor, const Storage& storage, uint64_t offset) {
    const uint64_t width = dtype_bits(*storage.dtype) / 8;
    const uint64_t held = (storage.place.end - storage.place.begin) / width;
    const uint64_t bytes = TRY(stored_bytes(*storage.dtype, tensor.shape));
    uint64_t span = bytes == 0 ? 0 : 1;  // elements from the first to the last
    for (size_t dim = 0; dim < tensor.shape.size() && span > 0; ++dim) {
      uint64_t reach = 0;
      if (__builtin_mul_overflow(static_cast<uint64_t>(tensor.shape[dim] - 1), static_cast<uint64_t>(tensor.strides[dim]),
                                 &reach) ||
          __builtin_add_overflow(span, reach, &span)) {
        return wrong("strides that leave any memory");
      }
    }
    if (offset > held || span > held - offset) {
      return wrong(fmt::format("elements {} to {} of a storage of {}", offset, offset + span, held));
    }
    tensor.begin = storage.place.begin + offset * width;
    tensor.end = tensor.begin + span * width;
    settle_layout(tensor, *storage.dtype, bytes / width);
    return {};
  }

  static void settle_layout(StoredTensor& tensor, DType dtype, uint64_t elements) {
    tensor.dtype_text = dtype_name(dtype);
    tensor.dtype = dtype;
    if (elements == 0) return tensor.strides.clear();
    int64_t expected = 1;
    bool is_row_major = true;
    for (size_t dim = tensor.shape.size(); dim-- > 0; expected *= tensor.shape[dim]) {
      is_row_major = is_row_major && (tensor.shape[dim] == 1 || tensor.strides[dim] == expected);
    }
    if (is_row_major) {
      tensor.strides.clear();
    } else if ((tensor.end - tensor.begin) * 8 / dtype_bits(dtype) < elements) {
      tensor.dtype.reset();  // A little file could otherwise stand for any amount of numbers.
      tensor.dtype_text += ", with elements that repeat";
    }
  }

  const Pickle& pickle_;
  const StoragePlaces& storages_;
  std::string_view file_name_;
};

Result<std::span<const std::byte>> stored_entry(std::span<const std::byte> file, const ZipEntry& entry, std::string_view name) {
  if (!entry.is_stored) {
    return fail(ErrorCode::kUnsupported, "{}: its zip entries are compressed; write it again with torch.save", name);
  }
  return file.subspan(entry.begin, entry.end - entry.begin);
}

Result<std::vector<StoredTensor>> read_zip_form(std::span<const std::byte> file, std::string_view name) {
  const ZipDirectory directory = TRY(read_zip_directory(file, name));
  constexpr std::string_view kPickle = "/data.pkl";
  std::string_view folder;
  const ZipEntry* pickle_entry = nullptr;
  for (const auto& [path, entry] : directory) {
    if (!path.ends_with(kPickle) || path.find('/') != path.size() - kPickle.size()) continue;
    folder = path.substr(0, path.size() - kPickle.size());
    pickle_entry = &entry;
  }
  if (pickle_entry == nullptr)
    return fail(ErrorCode::kUnsupported, "{}: a zip file without data.pkl; torch.save writes one", name);
  const auto order = directory.find(fmt::format("{}/byteorder", folder));
  if (order != directory.end()) {
    const std::span<const std::byte> text = TRY(stored_entry(file, order->second, name));
    if (text.size() != 6 || std::memcmp(text.data(), "little", 6) != 0) {
      return fail(ErrorCode::kUnsupported, "{}: written on a big-endian machine", name);
    }
  }
  StoragePlaces storages;
  const std::string prefix = fmt::format("{}/data/", folder);
  for (const auto& [path, entry] : directory) {
    if (!path.starts_with(prefix)) continue;
    TRY_VOID(stored_entry(file, entry, name));
    storages.emplace(path.substr(prefix.size()), StoragePlace{entry.begin, entry.end});
  }
  const std::span<const std::byte> bytes = TRY(stored_entry(file, *pickle_entry, name));
  if (bytes.size() > kMaxTorchPickle) {
    return fail(ErrorCode::kCorrupt, "{}: data.pkl of {} bytes, at most {} are allowed", name, bytes.size(), kMaxTorchPickle);
  }
  const Pickle pickle = TRY(read_pickle(bytes, kGlobals, name));
  return TensorReader(pickle, storages, name).read();
}

// Keys of storages and the widths of their elements, which the object's pickle says.
std::map<std::string_view, uint64_t, std::less<>> storage_widths(const Pickle& pickle) {
  std::map<std::string_view, uint64_t, std::less<>> widths;
  for (const PickleNode& node : pickle.nodes) {
    if (node.kind != Kind::kPersistent) continue;
    const PickleNode& id = pickle.at(node.items[0]);
    if (id.kind != Kind::kSequence || id.items.size() < 3) continue;
    const std::optional<DType> dtype = type_named(pickle.at(id.items[1]).text);
    if (dtype) widths[pickle.at(id.items[2]).text] = dtype_bits(*dtype) / 8;
  }
  return widths;
}

// The storages that lie behind the pickles, in the order of `keys`.
Result<StoragePlaces> find_storages(std::span<const std::byte> file, size_t position, const Pickle& keys,
                                    const Pickle& object) {
  const std::map<std::string_view, uint64_t, std::less<>> widths = storage_widths(object);
  StoragePlaces storages;
  ByteReader reader(file, position);
  for (const uint32_t item : keys.at(keys.root).items) {
    const std::string_view key = keys.at(item).text;
    const auto width = widths.find(key);
    const std::optional<uint64_t> elements = reader.take<uint64_t>();
    if (width == widths.end() || !elements || *elements > reader.left() / width->second) {
      return fail(ErrorCode::kCorrupt, "storage '{}' is not whole; truncated?", printable_path(key));
    }
    const uint64_t begin = reader.position();
    reader.take_text(*elements * width->second);
    storages[key] = {begin, reader.position()};
  }
  return storages;
}

Result<std::vector<StoredTensor>> read_row_form(std::span<const std::byte> file, std::string_view name) {
  std::array<Pickle, 5> pickles;  // magic number, version, facts about the writer, object, keys
  size_t position = 0;
  for (Pickle& pickle : pickles) {
    const size_t most = std::min<size_t>(file.size() - position, kMaxTorchPickle);
    pickle = TRY(read_pickle(file.subspan(position, most), kGlobals, name));
    position += pickle.size;
  }
  const PickleNode& version = pickles[1].at(pickles[1].root);
  if (pickles[0].at(pickles[0].root).kind != Kind::kOther || version.kind != Kind::kInt || version.number != 1001) {
    return fail(ErrorCode::kUnsupported, "{}: a pickle, but not one that torch.save wrote", name);
  }
  const StoragePlaces storages =
      TRY(find_storages(file, position, pickles[4], pickles[3]).map_error(within(std::string(name))));
  return TensorReader(pickles[3], storages, name).read();
}

}  // namespace

Result<std::vector<StoredTensor>> read_torch_file(std::span<const std::byte> file, std::string_view name) {
  if (is_zip(file)) return read_zip_form(file, name);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("version https://git-lfs")) {
    return fail(ErrorCode::kCorrupt, "{}: a Git LFS pointer, not the weights themselves; fetch them with `git lfs pull`", name);
  }
  // Both forms begin with a mark of their own, so anything else gets one clear message.
  if (!text.starts_with("\x80\x02")) {
    return fail(ErrorCode::kUnsupported, "{}: no file of torch.save: neither a zip file nor a pickle of protocol 2", name);
  }
  return read_row_form(file, name);
}

}  // namespace inlay
