#include "weights/onnx.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/protobuf.h"

namespace inlay {
namespace {

constexpr size_t kMaxOperands = 1000;

struct OnnxType {
  int32_t id;
  DType dtype;
};
constexpr std::array<OnnxType, 13> kTypes = {{{1, DType::kF32},
                                              {2, DType::kU8},
                                              {3, DType::kI8},
                                              {4, DType::kU16},
                                              {5, DType::kI16},
                                              {6, DType::kI32},
                                              {7, DType::kI64},
                                              {9, DType::kBool},
                                              {10, DType::kF16},
                                              {11, DType::kF64},
                                              {12, DType::kU32},
                                              {13, DType::kU64},
                                              {16, DType::kBF16}}};

// Calls `visit(field)` for each field of a message.
template <class Visit>
Result<> each_field(std::string_view message, Visit visit) {
  ProtoReader reader(message);
  while (true) {
    const std::optional<ProtoField> field = TRY(reader.next());
    if (!field) return {};
    TRY_VOID(visit(*field));
  }
}

struct Node {
  std::string_view name, kind, domain;
  std::vector<std::string_view> inputs;
  std::string_view output;     // the first
  bool is_transposed = false;  // transB of a Gemm
};

class OnnxReader {
 public:
  OnnxReader(std::span<const std::byte> file, std::string_view name)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()), name_(name) {}

  Result<std::vector<OnnxTensor>> read() {
    TRY_VOID(each_field(text_, [this](const ProtoField& field) {
               return field.number == 7 ? read_graph(field.bytes) : Result<>();
             }).map_error(within(fmt::format("{}: no ONNX model", name_))));
    if (tensors_.empty()) return fail(ErrorCode::kCorrupt, "{}: an ONNX model without weights", name_);
    TRY_VOID(refuse_other_graphs());
    name_matrices();
    name_vectors();
    // What is still named after a place in the graph is a number that the graph computes shapes and scales with.
    tensors_.erase(std::remove_if(tensors_.begin(), tensors_.end(),
                                  [](const OnnxTensor& tensor) {
                                    const std::string& tensor_name = tensor.stored.name;
                                    return tensor_name.find('/') != std::string::npos ||
                                           tensor_name.find("::") != std::string::npos;
                                  }),
                   tensors_.end());
    return std::move(tensors_);
  }

 private:
  Result<> read_graph(std::string_view graph) {
    return each_field(graph, [this](const ProtoField& field) -> Result<> {
      if (field.number == 1) return read_node(field.bytes);
      if (field.number == 5) return read_tensor(field.bytes, {});
      return {};
    });
  }

  Result<> read_node(std::string_view message) {
    Node node;
    std::string_view constant;
    TRY_VOID(each_field(message, [&](const ProtoField& field) -> Result<> {
      if (field.number == 1 && node.inputs.size() < kMaxOperands) node.inputs.push_back(field.bytes);
      if (field.number == 2 && node.output.empty()) node.output = field.bytes;
      if (field.number == 3) node.name = field.bytes;
      if (field.number == 4) node.kind = field.bytes;
      if (field.number == 7) node.domain = field.bytes;
      return field.number == 5 ? read_attribute(field.bytes, node, constant) : Result<>();
    }));
    if (node.kind == "Constant") return constant.empty() ? Result<>() : read_tensor(constant, node.output);
    nodes_.push_back(std::move(node));
    return {};
  }

  static Result<> read_attribute(std::string_view message, Node& node, std::string_view& constant) {
    std::string_view name;
    std::string_view tensor;
    uint64_t number = 0;
    TRY_VOID(each_field(message, [&](const ProtoField& field) -> Result<> {
      if (field.number == 1) name = field.bytes;
      if (field.number == 3) number = field.value;
      if (field.number == 5) tensor = field.bytes;
      return {};
    }));
    if (name == "transB") node.is_transposed = number != 0;
    if (name == "value") constant = tensor;
    return {};
  }

  // What a TensorProto says, before it is understood.
  struct Parts {
    int32_t type = 0;
    std::string_view raw, floats;
    size_t float_parts = 0;
    bool is_external = false;
    std::map<std::string_view, std::string_view> external;
  };

  Result<> read_tensor(std::string_view message, std::string_view given_name) {
    OnnxTensor tensor;
    tensor.stored.name = given_name;
    Parts parts;
    TRY_VOID(each_field(message, [&](const ProtoField& field) { return read_tensor_field(field, tensor, parts); }));
    if (!given_name.empty()) tensor.stored.name = given_name;
    if (tensor.stored.name.size() > kMaxStoredName || !seen_.insert(tensor.stored.name).second) {
      return fail(ErrorCode::kCorrupt, "tensor '{}' is listed twice or its name is too long",
                  tensor.stored.name.substr(0, 200));
    }
    if (tensors_.size() == kMaxStoredTensors) return fail(ErrorCode::kCorrupt, "more than {} tensors", kMaxStoredTensors);
    TRY_VOID(place(tensor, parts));
    tensors_.push_back(std::move(tensor));
    return {};
  }

  static Result<> read_tensor_field(const ProtoField& field, OnnxTensor& tensor, Parts& parts) {
    switch (field.number) {
      case 1: return read_dims(field, tensor.stored.shape);
      case 2: parts.type = field.as_int(); return {};
      case 4:
        parts.floats = field.bytes;
        ++parts.float_parts;
        return {};
      case 8: tensor.stored.name = field.bytes; return {};
      case 9: parts.raw = field.bytes; return {};
      case 13: return read_external(field.bytes, parts);
      case 14: parts.is_external = field.value == 1; return {};
      default: return {};
    }
  }

  // Packed, or one a field.
  static Result<> read_dims(const ProtoField& field, std::vector<int64_t>& shape) {
    if (field.bytes.empty()) return add_dim(field.value, shape);
    std::string_view rest = field.bytes;
    uint64_t value = 0;
    for (int shift = 0; !rest.empty(); rest.remove_prefix(1)) {
      const uint8_t byte = static_cast<uint8_t>(rest.front());
      if (shift > 56) return fail(ErrorCode::kCorrupt, "a dimension of more than 63 bits");
      value |= uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      TRY_VOID(add_dim(value, shape));
      value = 0;
      shift = 0;
    }
    return {};
  }
  static Result<> add_dim(uint64_t value, std::vector<int64_t>& shape) {
    if (shape.size() == kMaxStoredRank || value > kMaxStoredDim) {
      return fail(ErrorCode::kCorrupt, "a shape of more than {} dimensions or with one of {}", kMaxStoredRank, value);
    }
    shape.push_back(static_cast<int64_t>(value));
    return {};
  }

  static Result<> read_external(std::string_view message, Parts& parts) {
    std::string_view key;
    std::string_view value;
    TRY_VOID(each_field(message, [&](const ProtoField& field) -> Result<> {
      if (field.number == 1) key = field.bytes;
      if (field.number == 2) value = field.bytes;
      return {};
    }));
    if (parts.external.size() < 16) parts.external[key] = value;
    return {};
  }

  Result<> place(OnnxTensor& tensor, const Parts& parts) const {
    StoredTensor& stored = tensor.stored;
    const Result<uint64_t> elements = stored_bytes(DType::kU8, stored.shape);
    if (!elements) return fail(ErrorCode::kCorrupt, "tensor '{}': {}", stored.name, elements.error().message);
    stored.dtype_text = fmt::format("ONNX type {}", parts.type);
    const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const OnnxType& known) { return known.id == parts.type; });
    if (type == kTypes.end()) return {};
    if (parts.is_external) return place_external(tensor, parts, type->dtype);
    const bool has_floats = parts.raw.empty() && parts.float_parts == 1 && type->dtype == DType::kF32;
    const std::string_view bytes = has_floats ? parts.floats : parts.raw;
    const uint64_t wanted = TRY(stored_bytes(type->dtype, stored.shape));
    if (bytes.size() != wanted) {
      // Small constants may lie in fields of their own types, which nothing here needs.
      if (parts.raw.empty()) return {};
      return fail(ErrorCode::kCorrupt, "tensor '{}': {} bytes, its shape {} takes {}", stored.name, bytes.size(),
                  fmt::join(stored.shape, "x"), wanted);
    }
    const uint64_t begin = bytes.empty() ? 0 : static_cast<uint64_t>(bytes.data() - text_.data());
    return place_row_major(stored, type->dtype, begin, text_.size());
  }

  static Result<> place_external(OnnxTensor& tensor, const Parts& parts, DType dtype) {
    const auto text = [&parts](std::string_view key) {
      const auto found = parts.external.find(key);
      return found == parts.external.end() ? std::string_view() : found->second;
    };
    const std::string_view location = text("location");
    const bool is_plain = !location.empty() && location.size() <= 255 && location != "." && location != ".." &&
                          location.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
    const std::string_view offset = text("offset");
    if (!is_plain || offset.size() > 18 || offset.find_first_not_of("0123456789") != std::string_view::npos) {
      return fail(ErrorCode::kCorrupt, "tensor '{}': its external data is at no plain name and offset", tensor.stored.name);
    }
    uint64_t begin = 0;
    for (const char digit : offset) begin = begin * 10 + static_cast<uint64_t>(digit - '0');
    tensor.location = location;
    return place_row_major(tensor.stored, dtype, begin, UINT64_MAX);
  }

  Result<> refuse_other_graphs() const {
    static constexpr std::array<std::string_view, 8> kFused = {"Attention",
                                                               "EmbedLayerNormalization",
                                                               "SkipLayerNormalization",
                                                               "MultiHeadAttention",
                                                               "QAttention",
                                                               "BiasGelu",
                                                               "FusedMatMul",
                                                               "MatMulNBits"};
    static constexpr std::array<std::string_view, 4> kQuantised = {"MatMulInteger", "DynamicQuantizeLinear", "DequantizeLinear",
                                                                   "QLinearMatMul"};
    for (const Node& node : nodes_) {
      const bool is_fused =
          node.domain == "com.microsoft" && std::find(kFused.begin(), kFused.end(), node.kind) != kFused.end();
      const bool is_quantised = std::find(kQuantised.begin(), kQuantised.end(), node.kind) != kQuantised.end();
      if (!is_fused && !is_quantised) continue;
      return fail(ErrorCode::kUnsupported,
                  "{}: the graph was {} (it has {} nodes); take the model as it was exported (onnx/model.onnx), or its "
                  "model.safetensors",
                  name_, is_fused ? "optimised, with layers fused" : "quantised", node.kind);
    }
    return {};
  }

  std::optional<size_t> index_of(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

  // "/encoder/layer.0/output/dense/MatMul" -> "encoder.layer.0.output.dense"
  static std::string module_of(std::string_view node_name) {
    if (!node_name.starts_with('/')) return {};
    const size_t end = node_name.rfind('/');
    std::string module(node_name.substr(1, end == 0 ? 0 : end - 1));
    std::replace(module.begin(), module.end(), '/', '.');
    return module;
  }

  // The name of what is added to `output`, without ".bias".
  std::string module_of_bias(std::string_view output) const {
    const auto found = adds_.find(output);
    if (found == adds_.end()) return {};
    for (const std::string_view input : nodes_[found->second].inputs) {
      if (input != output && input.ends_with(".bias") && index_of(input)) return std::string(input.substr(0, input.size() - 5));
    }
    return {};
  }

  std::string matrix_name(const Node& node, std::string_view initialiser) const {
    if (initialiser.ends_with(".weight")) return std::string(initialiser);
    std::string module = module_of_bias(node.output);
    if (module.empty() && node.kind == "Gemm" && node.inputs.size() > 2 && node.inputs[2].ends_with(".bias")) {
      module = node.inputs[2].substr(0, node.inputs[2].size() - 5);
    }
    if (module.empty()) module = module_of(node.name);
    return module.empty() ? std::string(initialiser) : module + ".weight";
  }

  void name_matrices() {
    for (size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].stored.name, i);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind != "Add") continue;
      for (const std::string_view input : nodes_[i].inputs) adds_.emplace(input, i);
    }
    std::map<size_t, std::vector<MatrixUse>> uses;
    for (const Node& node : nodes_) {
      if ((node.kind != "MatMul" && node.kind != "Gemm") || node.inputs.size() < 2) continue;
      const std::optional<size_t> at = index_of(node.inputs[1]);
      if (!at || tensors_[*at].stored.shape.size() != 2) continue;
      uses[*at].push_back({matrix_name(node, node.inputs[1]), !node.is_transposed});
    }
    for (const auto& [at, list] : uses) show_matrix(at, list);
  }

  struct MatrixUse {
    std::string name;
    bool is_turned = false;  // [in, out] in the graph
  };

  // The first use renames a tensor; each further one, of a matrix that exporters merged with an equal one, adds a name.
  void show_matrix(size_t at, const std::vector<MatrixUse>& uses) {
    const OnnxTensor original = tensors_[at];
    bool is_renamed = false;
    for (const MatrixUse& use : uses) {
      const bool keeps_name = use.name == original.stored.name;
      if (keeps_name ? is_renamed : use.name.size() > kMaxStoredName || !seen_.insert(use.name).second) continue;
      OnnxTensor shown = original;
      shown.stored.name = use.name;
      if (use.is_turned) {
        const std::vector<int64_t>& shape = original.stored.shape;
        shown.stored.strides = {1, shape[1]};
        shown.stored.shape = {shape[1], shape[0]};
      }
      if (is_renamed) {
        tensors_.push_back(std::move(shown));
      } else {
        tensors_[at] = std::move(shown);
        is_renamed = true;
      }
    }
  }

  // Vectors by the module of the node that uses them, where that name is missing.
  void name_vectors() {
    const size_t count = tensors_.size();
    for (const Node& node : nodes_) {
      const std::string module = module_of(node.name);
      if (module.empty()) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const std::string_view ending = vector_ending(node, i);
        const std::optional<size_t> at = ending.empty() ? std::nullopt : index_of(node.inputs[i]);
        if (!at || tensors_[*at].stored.shape.size() != 1) continue;
        std::string name = module + std::string(ending);
        if (name.size() > kMaxStoredName || tensors_.size() >= 2 * count + 1000 || !seen_.insert(name).second) continue;
        OnnxTensor alias = tensors_[*at];
        alias.stored.name = std::move(name);
        tensors_.push_back(std::move(alias));
      }
    }
  }
  static std::string_view vector_ending(const Node& node, size_t input) {
    if (node.kind == "LayerNormalization") return input == 1 ? ".weight" : input == 2 ? ".bias" : "";
    if (node.kind == "Add") return ".bias";
    return node.kind == "Mul" ? ".weight" : "";
  }

  std::string_view text_;
  std::string_view name_;
  std::vector<OnnxTensor> tensors_;
  std::vector<Node> nodes_;
  std::unordered_set<std::string> seen_;
  std::unordered_map<std::string_view, size_t> adds_;  // by what they add
  std::map<std::string, size_t, std::less<>> index_;   // by the names in the graph
};

}  // namespace

Result<std::vector<OnnxTensor>> read_onnx(std::span<const std::byte> file, std::string_view name) {
  return OnnxReader(file, name).read().map_error([name](Error error) {
    return error.message.starts_with(name) ? error : within(std::string(name))(std::move(error));
  });
}

}  // namespace inlay
