#include "model/feed_forward.h"

#include <algorithm>

namespace inlay {
namespace {

// Rows [begin, begin + rows) of `input` through the wide product and its activation. Ends with a meeting of the team.
void widen(const ComputePlan& plan, const Share& share, const FeedForward& block, const LinearOp& rows, Workspace& workspace) {
  const Kernels& kernels = *plan.kernels;
  const Floats feed = workspace.feed();
  const Operand wide = workspace.feed_operand();
  const bool direct = plan.format == Format::kBF16 && !block.is_gated;
  LinearOp op = rows;
  op.activation = block.is_gated ? Activation::kIdentity : block.activation;
  op.output = direct ? wide.data : feed.data;
  op.output_stride = feed.stride;
  op.output_is_bf16 = direct;
  linear(kernels, share, op);
  share.sync();
  if (direct) return;
  const int columns = block.down.shape().k;
  if (block.is_gated) {
    gate(kernels, share,
         {.format = plan.format,
          .input = feed,
          .rows = op.rows,
          .columns = columns,
          .activation = block.activation,
          .activates_first = block.activates_first,
          .output = wide});
    share.sync();
  } else if (takes_codes(plan.format)) {
    prepare(kernels, share, {plan.format, feed, op.rows, columns, wide});
    share.sync();
  }
}

}  // namespace

void add_product(const Kernels& kernels, const Share& share, const AddProduct& op, Workspace& workspace) {
  const Floats x = {workspace.hidden().row(op.begin), workspace.hidden().stride};
  LinearOp product = {.weights = op.weights, .input = op.input, .rows = op.rows};
  if (!op.result_norm.exists()) {
    product.residual = &x;
    product.output = x.data;
    product.output_stride = x.stride;
    linear(kernels, share, product);
    share.sync();
    return;
  }
  const Floats result = {workspace.normed().row(op.begin), workspace.normed().stride};
  product.output = result.data;
  product.output_stride = result.stride;
  linear(kernels, share, product);
  share.sync();
  normalise(kernels, share, op.result_norm, result, result, op.rows);
  const Share::Range part = share.part_of(op.rows);
  for (int row = part.begin; row < part.end; ++row) {
    for (int c = 0; c < op.result_norm.columns; ++c) x.row(row)[c] += result.row(row)[c];
  }
  share.sync();
}

void feed_forward(const ComputePlan& plan, const Share& share, const FeedForward& block, const FeedInput& input,
                  Workspace& workspace) {
  const Kernels& kernels = *plan.kernels;
  for (int begin = 0; begin < input.tokens; begin += Workspace::kFeedRows) {
    const int rows = std::min(Workspace::kFeedRows, input.tokens - begin);
    widen(plan, share, block, {.weights = block.up, .input = input.rows.from_row(kernels, plan.format, begin), .rows = rows},
          workspace);
    add_product(kernels, share,
                {.weights = block.down,
                 .result_norm = block.result_norm,
                 .input = workspace.feed_operand(),
                 .begin = begin,
                 .rows = rows},
                workspace);
  }
}

}  // namespace inlay
