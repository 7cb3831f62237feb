#include "backend/ops.h"

#include <algorithm>
#include <cmath>

namespace inlay {
namespace {

// Enough padding for any vector length.
constexpr size_t kPadFloats = 64;

Buffer padded(std::span<const float> values) {
  Buffer buffer(round_up(values.size(), kPadFloats) * sizeof(float));
  std::copy(values.begin(), values.end(), buffer.as<float>());
  return buffer;
}

}  // namespace

NormWeights::NormWeights(std::span<const float> gamma_values, std::span<const float> beta_values, float epsilon)
    : gamma(padded(gamma_values)), beta(padded(beta_values)), columns(static_cast<int>(gamma_values.size())), eps(epsilon) {}

void layer_norm(const Kernels& kernels, const Share& share, const NormWeights& norm, Floats x, int rows) {
  const Share::Range part = share.part_of(rows);
  LayerNormArgs args;
  args.x = x.row(part.begin);
  args.y = x.row(part.begin);
  args.stride = x.stride;
  args.gamma = norm.gamma.as<float>();
  args.beta = norm.beta.as<float>();
  args.rows = part.end - part.begin;
  args.columns = norm.columns;
  args.eps = norm.eps;
  kernels.layer_norm(args);
}

void prepare(const Kernels& kernels, const Share& share, const PrepareOp& op) {
  if (!is_narrow(op.format)) return;
  const Share::Range part = share.part_of(op.rows);
  const int64_t bytes = kernels.panel(op.format).activation_bytes;
  ConvertArgs args;
  args.x = op.input.row(part.begin);
  args.x_stride = op.input.stride;
  args.y = static_cast<char*>(op.output.data) + part.begin * op.output.stride * bytes;
  args.y_stride = op.output.stride;
  args.rows = part.end - part.begin;
  args.columns = op.columns;
  args.padded = static_cast<int>(round_up(static_cast<size_t>(op.columns), static_cast<size_t>(kernels.vector_floats)));
  if (op.format == Format::kBF16) return kernels.to_bf16(args);
  args.scale = op.output.scale + part.begin;
  args.minimum = op.output.minimum + part.begin;
  (op.format == Format::kI4 ? kernels.to_codes_i4 : kernels.to_codes)(args);
}

size_t attention_scratch_bytes(const Kernels& kernels, bool is_bf16, int longest, int head_dim) {
  return (is_bf16 ? kernels.attention_bf16_bytes : kernels.attention_f32_bytes)(longest, head_dim);
}

void attention(const Kernels& kernels, const Share& share, const AttentionOp& op) {
  const int64_t element = op.is_bf16 ? 2 : 4;
  const int64_t out_element = op.out_is_bf16 ? 2 : 4;
  const int64_t hidden = static_cast<int64_t>(op.heads) * op.head_dim;
  AttentionArgs args;
  args.stride = op.stride;
  args.out_stride = op.out_stride;
  args.out_is_bf16 = op.out_is_bf16;
  args.head_dim = op.head_dim;
  args.scale = 1.0F / std::sqrt(static_cast<float>(op.head_dim));
  args.scratch = op.scratch;
  const int sequences = static_cast<int>(op.starts.size()) - 1;
  for (int item = share.rank; item < sequences * op.heads; item += share.size) {
    const int begin = op.starts[item / op.heads];
    const int64_t column = static_cast<int64_t>(item % op.heads) * op.head_dim;
    args.length = op.starts[item / op.heads + 1] - begin;
    args.query_end = args.length;
    const char* q = static_cast<const char*>(op.qkv) + (begin * op.stride + column) * element;
    args.q = q;
    args.k = q + hidden * element;
    args.v = q + 2 * hidden * element;
    args.out = static_cast<char*>(op.out) + (begin * op.out_stride + column) * out_element;
    (op.is_bf16 ? kernels.attention_bf16 : kernels.attention_f32)(args);
    share.give_way();
  }
}

}  // namespace inlay
