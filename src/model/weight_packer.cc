#include "model/weight_packer.h"

#include <array>
#include <optional>

#include "model/coded_source.h"

namespace inlay {
namespace {

// Raised whenever the same weights pack into other bytes, or names of blobs change.
constexpr int kPackedVersion = 1;

// The parts of something packed, if the store has them all in these sizes. Parts of size 0 are not stored.
template <size_t kCount>
std::optional<std::array<Blob, kCount>> take_parts(PackedStore* store, const std::string& name,
                                                   const std::array<std::string_view, kCount>& parts,
                                                   const std::array<size_t, kCount>& sizes) {
  if (store == nullptr) return std::nullopt;
  std::array<std::span<const std::byte>, kCount> found;
  for (size_t i = 0; i < kCount; ++i) {
    if (sizes[i] == 0) continue;
    const std::optional<std::span<const std::byte>> bytes = store->find(fmt::format("{}:{}", name, parts[i]), sizes[i]);
    if (!bytes) return std::nullopt;
    found[i] = *bytes;
  }
  std::array<Blob, kCount> blobs;
  for (size_t i = 0; i < kCount; ++i) blobs[i] = Blob::borrow(found[i]);
  return blobs;
}

template <size_t kCount>
void keep_parts(PackedStore* store, const std::string& name, const std::array<std::string_view, kCount>& parts,
                const std::array<Blob, kCount>& blobs) {
  if (store == nullptr) return;
  for (size_t i = 0; i < kCount; ++i) {
    if (blobs[i].size() > 0) store->keep(fmt::format("{}:{}", name, parts[i]), blobs[i].bytes());
  }
}

}  // namespace

Result<std::vector<float>> WeightPacker::vector(const std::string& name, int size) const {
  const TensorView* tensor = TRY(weights_.require(name, {size}));
  std::vector<float> values(static_cast<size_t>(size));
  TRY_VOID(to_float(*tensor, 0, values));
  return values;
}

Result<NormWeights> WeightPacker::norm(const std::string& name, int size, float eps) const {
  const std::vector<float> gamma = TRY(vector(name + ".weight", size));
  const std::vector<float> beta = TRY(vector(name + ".bias", size));
  return NormWeights(gamma, beta, eps);
}

Result<EmbeddingTable> WeightPacker::table(const std::string& name, int rows, int columns) const {
  const TensorView* tensor = TRY(weights_.require(name, {rows, columns}));
  const std::array<size_t, 2> sizes = EmbeddingTable::part_sizes(*tensor, plan_.tables);
  std::optional<EmbeddingTable::Parts> parts = take_parts(plan_.packed, name, EmbeddingTable::kPartNames, sizes);
  EmbeddingTable table;
  if (parts) {
    table = EmbeddingTable::from_parts(*tensor, plan_.tables, *std::move(parts));
  } else {
    const EmbeddingTable::SourceDone release = [this](std::span<const std::byte> bytes) { weights_.store().release(bytes); };
    table = TRY(EmbeddingTable::make(*tensor, plan_.tables, team_, release).map_error(within(weights_.full_name(name))));
  }
  keep_parts(plan_.packed, name, EmbeddingTable::kPartNames, table.parts());
  if (plan_.visitor != nullptr) plan_.visitor->table(weights_.full_name(name), rows, columns);
  return table;
}

Result<PackedLinear> WeightPacker::linear(const std::vector<std::string>& names, int columns, int k) const {
  std::vector<LinearRows> rows;
  for (const std::string& name : names) {
    const TensorView* weights = TRY(weights_.require(name + ".weight", {columns, k}));
    TRY_VOID(weights_.require(name + ".bias", {columns}));
    const int begin = columns * static_cast<int>(rows.size());
    rows.push_back({weights, begin, begin + columns});
  }
  const Format format = format_for(plan_, rows);
  const LinearSource source = linear_source(rows, k, format);
  const PackedShape shape = PackedLinear::shape_for(*plan_.compute.kernels, format, rows.back().end, k, source);
  const std::string joined = fmt::format("{}", fmt::join(names, "+"));
  std::optional<PackedLinear::Parts> parts =
      take_parts(plan_.packed, joined, PackedLinear::kPartNames, PackedLinear::part_sizes(shape, format));
  PackedLinear packed =
      parts ? PackedLinear::from_parts(shape, format, *std::move(parts)) : TRY(pack(names, columns, format, shape, source));
  keep_parts(plan_.packed, joined, PackedLinear::kPartNames, packed.parts());
  if (plan_.visitor != nullptr) packed.set_observer(plan_.visitor->linear(layer_of(names, shape)));
  return packed;
}

LinearVisitor::Layer WeightPacker::layer_of(const std::vector<std::string>& names, const PackedShape& shape) const {
  LinearVisitor::Layer layer = {{}, shape.columns, shape.k};
  for (const std::string& name : names) layer.weights.push_back(weights_.full_name(name + ".weight"));
  return layer;
}

Result<PackedLinear> WeightPacker::pack(const std::vector<std::string>& names, int columns, Format format,
                                        const PackedShape& shape, const LinearSource& source) const {
  std::vector<float> bias;
  for (const std::string& name : names) {
    const std::vector<float> part = TRY(vector(name + ".bias", columns));
    bias.insert(bias.end(), part.begin(), part.end());
  }
  PackedLinear packed = TRY(PackedLinear::pack(*plan_.compute.kernels, format, shape, source, bias, team_)
                                .map_error(within(weights_.full_name(names.front() + ".weight"))));
  for (const std::string& name : names) weights_.store().release(weights_.full_name(name + ".weight"));
  return packed;
}

std::string packed_key(const WeightStore& weights, const LoadPlan& plan) {
  const PanelLayout& panel = plan.compute.kernels->panel(plan.compute.format);
  std::string key = fmt::format("inlay {}, packing {}\n", INLAY_VERSION, kPackedVersion);
  key += fmt::format("kernels {}: format {}, panels of {} columns, {} k together, {} bytes\n", plan.compute.kernels->name,
                     static_cast<int>(plan.compute.format), panel.panel_columns, panel.k_step, panel.element_bytes);
  key += fmt::format("tables {}, groups {}, floats kept {}\n", static_cast<int>(plan.tables), LinearSource::kDefaultGroup,
                     plan.keeps_floats);
  if (const std::optional<QuantizationConfig>& config = weights.quantization()) {
    key += fmt::format("codes by {}, {}, groups of {}, zeros less one {}\n", config->method, config->dtype, config->group_size,
                       config->zero_is_less_one);
  }
  return key + weights.identity();
}

}  // namespace inlay
