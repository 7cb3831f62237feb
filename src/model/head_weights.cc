#include "model/head_weights.h"

namespace inlay {
namespace {

// The spelling of the first BERT checkpoints.
std::string old_spelling(std::string_view name) {
  if (name.ends_with("LayerNorm.weight")) return std::string(name.substr(0, name.size() - 6)) + "gamma";
  if (name.ends_with("LayerNorm.bias")) return std::string(name.substr(0, name.size() - 4)) + "beta";
  return std::string(name);
}

std::optional<std::string> find_spelling(const WeightStore& store, std::string_view name) {
  if (store.contains(name)) return std::string(name);
  const std::string ending = fmt::format(".{}", name);
  std::optional<std::string> found;
  for (const std::string& known : store.names()) {
    if (!known.ends_with(ending)) continue;
    if (found) return std::nullopt;
    found = known;
  }
  return found;
}

}  // namespace

std::optional<std::string> HeadWeights::find(std::string_view name) const {
  std::optional<std::string> found = find_spelling(store_, name);
  return found ? found : find_spelling(store_, old_spelling(name));
}

Result<const TensorView*> HeadWeights::tensor(std::string_view name) const {
  const std::optional<std::string> full = find(name);
  if (full) return store_.get(*full);
  return fail(ErrorCode::kCorrupt, "{}: tensor '{}' is missing", store_.file_of(name), name);
}

Result<const TensorView*> HeadWeights::tensor(std::string_view name, const std::vector<int64_t>& shape) const {
  const TensorView* view = TRY(tensor(name));
  if (view->shape == shape) return view;
  return fail(ErrorCode::kCorrupt, "{}: {}: found shape {}, wanted {}", store_.file_of(name), name, shape_text(view->shape),
              shape_text(shape));
}

Result<std::vector<float>> HeadWeights::vector(std::string_view name, int size) const {
  const TensorView* view = TRY(tensor(name, {size}));
  std::vector<float> values(static_cast<size_t>(size));
  TRY_VOID(to_float(*view, 0, values).map_error(within(std::string(name))));
  return values;
}

Result<NormWeights> HeadWeights::norm(const std::string& name, int size, float eps, bool needs_bias) const {
  const std::vector<float> gamma = TRY(vector(name + ".weight", size));
  std::vector<float> beta(static_cast<size_t>(size), 0.0F);
  if (needs_bias || contains(name + ".bias")) beta = TRY(vector(name + ".bias", size));
  return NormWeights(gamma, beta, eps);
}

Result<PackedLinear> HeadWeights::linear(const std::string& name, int columns, int k, bool has_bias) const {
  const std::string prefix = name.empty() ? name : name + ".";
  const TensorView* view = TRY(tensor(prefix + "weight", {columns, k}));
  std::vector<float> bias;
  if (has_bias) bias = TRY(vector(prefix + "bias", columns));
  const PackedLinear::RowSource row = [&](int column, std::span<float> out) {
    return to_float(*view, int64_t{column} * k, out);
  };
  return PackedLinear::pack(kernels_, Format::kF32, columns, k, row, bias, team_).map_error(within(store_.file_of(name)));
}

}  // namespace inlay
