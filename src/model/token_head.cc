#include "model/token_head.h"

#include <algorithm>

#include "model/head.h"
#include "model/head_weights.h"

namespace inlay {
namespace {

constexpr int64_t kMostColumns = 1 << 16;

// Rows of `name`, whose number only the tensor itself tells.
Result<int> columns_of(const HeadWeights& weights, const std::string& name, int hidden_size) {
  const TensorView* tensor = TRY(weights.tensor(name));
  if (tensor->shape.size() == 2 && tensor->shape[1] == hidden_size && tensor->shape[0] >= 1 && tensor->shape[0] <= kMostColumns)
    return static_cast<int>(tensor->shape[0]);
  return fail(ErrorCode::kCorrupt, "{}: found shape {}, wanted [1 to {}, {}]", name, shape_text(tensor->shape), kMostColumns,
              hidden_size);
}

// A projection NAME.weight [columns, hidden], or without a name weight.
Result<> add_projection(const HeadWeights& weights, const std::string& name, bool has_bias, RowSteps& steps) {
  const int hidden = steps.columns();
  const int columns = TRY(columns_of(weights, name.empty() ? "weight" : name + ".weight", hidden));
  steps.add_dense(TRY(weights.linear(name, columns, hidden, has_bias)), Activation::kIdentity);
  return {};
}

}  // namespace

Result<TokenHead> TokenHead::load(const ModelSpec& spec, const WeightStore& model, const Kernels& kernels, Team& team) {
  TokenHead head;
  head.hidden_size_ = spec.encoder.hidden_size;
  head.steps_ = RowSteps(kernels, head.hidden_size_);
  if (!spec.tokens) return head;
  const TokenSpec& tokens = *spec.tokens;
  head.leaves_out_first_ = tokens.leaves_out_first;
  head.skips_in_queries_ = tokens.skips_in_queries;
  head.skips_in_documents_ = tokens.skips_in_documents;
  if (tokens.is_inline) TRY_VOID(add_projection(HeadWeights(model, kernels, team), "linear", false, head.steps_));
  if (!tokens.weights.empty()) {
    const WeightStore own = TRY(WeightStore::open_file(tokens.weights));
    TRY_VOID(add_projection(HeadWeights(own, kernels, team), "", true, head.steps_));
  }
  TRY_VOID(add_modules(tokens.modules, kernels, team, head.steps_));
  return head;
}

TokenVectors TokenHead::apply(const PackedBatch& batch, Text text, Floats hidden, RowMemory& memory) const {
  const int begin = batch.starts[text.index] + (leaves_out_first_ ? 1 : 0);
  TokenVectors tokens;
  tokens.columns = steps_.columns();
  const bool skips = text.is_query ? skips_in_queries_ : skips_in_documents_;
  std::vector<int> rows;
  for (int row = begin; row < batch.starts[text.index + 1]; ++row) {
    const int32_t id = batch.ids[row];
    if (skips && std::find(skipped_.begin(), skipped_.end(), id) != skipped_.end()) continue;
    rows.push_back(row);
    tokens.ids.push_back(id);
  }
  const int count = static_cast<int>(rows.size());
  float* input = steps_.begin(count, memory);
  for (int i = 0; i < count; ++i)
    std::copy_n(hidden.row(rows[i]), hidden_size_, input + static_cast<size_t>(i) * steps_.stride());
  steps_.run(count, memory);
  tokens.values.resize(static_cast<size_t>(count) * static_cast<size_t>(tokens.columns));
  for (int i = 0; i < count; ++i) {
    std::copy_n(steps_.result(i, memory), tokens.columns, tokens.values.data() + static_cast<size_t>(i) * tokens.columns);
  }
  return tokens;
}

}  // namespace inlay
