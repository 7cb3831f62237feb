#include "model/weight_packer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "model/coded_source.h"

namespace inlay {
namespace {

// Raised whenever the same weights pack into other bytes, or names of blobs change.
constexpr int kPackedVersion = 3;

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

Result<NormWeights> WeightPacker::norm_without_bias(const std::string& name, int size, float eps) const {
  const std::vector<float> gamma = TRY(vector(name + ".weight", size));
  return NormWeights(gamma, std::vector<float>(static_cast<size_t>(size)), eps);
}

Result<NormWeights> WeightPacker::rms_norm(const std::string& name, int size, float eps, float offset) const {
  std::vector<float> gamma = TRY(vector(name + ".weight", size));
  for (float& value : gamma) value += offset;
  NormWeights norm(gamma, {}, eps);
  norm.is_rms = true;
  return norm;
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
  std::vector<LinearPart> parts;
  for (const std::string& name : names) parts.push_back({name, columns});
  return linear(parts, k);
}

Result<PackedLinear> WeightPacker::linear(const std::vector<LinearPart>& parts, int k) const {
  std::vector<LinearRows> rows;
  LinearVisitor::Layer layer;
  LinearRecipe recipe;
  recipe.k = k;
  for (const LinearPart& part : parts) {
    const std::string weight = part.weight.empty() ? part.name + ".weight" : part.weight;
    const TensorView* weights = TRY(weights_.require(weight, {part.columns, k}));
    rows.push_back({weights, recipe.columns, recipe.columns + part.columns});
    recipe.columns += part.columns;
    recipe.tensors.push_back(weight);
    recipe.name += (recipe.name.empty() ? "" : "+") + part.name;
    layer.weights.push_back(weights_.full_name(weight));
    recipe.bias.resize(static_cast<size_t>(recipe.columns));
    if (!part.has_bias) continue;
    const std::vector<float> bias = TRY(vector(part.name + ".bias", part.columns));
    std::copy(bias.begin(), bias.end(), recipe.bias.end() - part.columns);
  }
  layer.columns = recipe.columns;
  layer.k = k;
  const Format format = format_for(plan_, rows);
  PackedLinear packed = TRY(pack(recipe, format, linear_source(rows, k, format)));
  if (plan_.visitor != nullptr) packed.set_observer(plan_.visitor->linear(layer));
  return packed;
}

Result<PackedLinear> WeightPacker::linear(const LinearRecipe& recipe) const {
  std::vector<const TensorView*> tensors;
  for (const std::string& name : recipe.tensors) tensors.push_back(weights_.store().find(weights_.full_name(name)));
  return pack(recipe, format_of_recipe(plan_, tensors), {.row = recipe.row});
}

Result<PackedLinear> WeightPacker::pack(const LinearRecipe& recipe, Format format, const LinearSource& source) const {
  const Kernels& kernels = *plan_.compute.kernels;
  const PackedShape shape = PackedLinear::shape_for(kernels, format, recipe.columns, recipe.k, source);
  std::optional<PackedLinear::Parts> parts =
      take_parts(plan_.packed, recipe.name, PackedLinear::kPartNames, PackedLinear::part_sizes(shape, format));
  PackedLinear packed;
  if (parts) {
    packed = PackedLinear::from_parts(shape, format, *std::move(parts));
  } else {
    const std::string where = recipe.tensors.empty() ? recipe.name : weights_.full_name(recipe.tensors.front());
    packed = TRY(PackedLinear::pack(kernels, format, shape, source, recipe.bias, team_).map_error(within(where)));
    for (const std::string& name : recipe.tensors) weights_.store().release(weights_.full_name(name));
    if (plan_.arena != nullptr) packed.move_into(*plan_.arena);
  }
  keep_parts(plan_.packed, recipe.name, PackedLinear::kPartNames, packed.parts());
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
