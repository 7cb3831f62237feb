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

}  // namespace

Result<TokenHead> TokenHead::load(const ModelSpec& spec, const WeightStore& store, const Kernels& kernels, Team& team) {
  TokenHead head;
  const int hidden = head.hidden_size_ = spec.encoder.hidden_size;
  head.steps_ = RowSteps(kernels, hidden);
  if (!spec.tokens) return head;
  const TokenSpec& tokens = *spec.tokens;
  head.leaves_out_first_ = tokens.leaves_out_first;
  if (!tokens.dense.empty()) {
    const HeadWeights weights(store, kernels, team);
    const int columns = TRY(columns_of(weights, tokens.dense + ".weight", hidden));
    head.steps_.add_dense(TRY(weights.linear(tokens.dense, columns, hidden, false)), Activation::kIdentity);
  } else if (!tokens.weights.empty()) {
    const WeightStore own = TRY(WeightStore::open_file(tokens.weights));
    const HeadWeights weights(own, kernels, team);
    const int columns = TRY(columns_of(weights, "weight", hidden));
    head.steps_.add_dense(TRY(weights.linear("", columns, hidden, true)), Activation::kIdentity);
  }
  TRY_VOID(add_modules(tokens.modules, kernels, team, head.steps_));
  return head;
}

TokenVectors TokenHead::apply(const PackedBatch& batch, Text text, Floats hidden, RowMemory& memory) const {
  const int begin = batch.starts[text.index] + (leaves_out_first_ ? 1 : 0);
  TokenVectors tokens;
  tokens.columns = steps_.columns();
  std::vector<int> rows;
  for (int row = begin; row < batch.starts[text.index + 1]; ++row) {
    const int32_t id = batch.ids[row];
    if (!text.is_query && std::find(skipped_.begin(), skipped_.end(), id) != skipped_.end()) continue;
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
