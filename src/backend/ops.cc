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

int padded_columns(const Kernels& kernels, int columns) {
  return static_cast<int>(round_up(static_cast<size_t>(columns), static_cast<size_t>(kernels.vector_floats)));
}

// From so many tokens on codes are faster than bf16. A text alone decides, so that it has the same bits in any batch.
constexpr int kCodesFrom = 96;

using AttentionFunction = void (*)(const AttentionArgs&) noexcept;
AttentionFunction attention_of(const Kernels& kernels, AttentionKind kind, int length) {
  if (kind == AttentionKind::kF32) return kernels.attention_f32;
  const bool by_bf16 = kind == AttentionKind::kBF16 || (length < kCodesFrom && kernels.attention_bf16 != nullptr);
  return by_bf16 ? kernels.attention_bf16 : kernels.attention_codes;
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

void normalise(const Kernels& kernels, const Share& share, const NormWeights& norm, Floats from, Floats to, int rows) {
  const Share::Range part = share.part_of(rows);
  if (!norm.is_rms) {
    kernels.layer_norm({from.row(part.begin), to.row(part.begin), from.stride, norm.gamma.as<float>(), norm.beta.as<float>(),
                        part.end - part.begin, norm.columns, norm.eps});
    return;
  }
  RmsNormArgs args;
  args.x = from.row(part.begin);
  args.x_stride = from.stride;
  args.y = to.row(part.begin);
  args.y_stride = to.stride;
  args.gamma = norm.gamma.as<float>();
  args.rows = part.end - part.begin;
  args.columns = norm.columns;
  args.padded = padded_columns(kernels, norm.columns);
  args.eps = norm.eps;
  kernels.rms_norm(args);
}

void gate(const Kernels& kernels, const Share& share, const GateOp& op) {
  const Share::Range part = share.part_of(op.rows);
  const bool direct = op.format == Format::kBF16;
  GateArgs args;
  args.x = op.input.row(part.begin);
  args.x_stride = op.input.stride;
  args.y = direct ? static_cast<void*>(static_cast<uint16_t*>(op.output.data) + part.begin * op.output.stride)
                  : op.input.row(part.begin);
  args.y_stride = direct ? op.output.stride : op.input.stride;
  args.y_is_bf16 = direct;
  args.activation = op.activation;
  args.activates_first = op.activates_first;
  args.rows = part.end - part.begin;
  args.columns = op.columns;
  args.padded = padded_columns(kernels, op.columns);
  kernels.gate(args);
  if (takes_codes(op.format)) prepare(kernels, share, {op.format, op.input, op.rows, op.columns, op.output});
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
  args.padded = padded_columns(kernels, op.columns);
  if (op.format == Format::kBF16) return kernels.to_bf16(args);
  args.scale = op.output.scale + part.begin;
  args.minimum = op.output.minimum + part.begin;
  (op.format == Format::kI4 ? kernels.to_codes_i4 : kernels.to_codes)(args);
}

size_t attention_scratch_bytes(const Kernels& kernels, AttentionKind kind, int longest, int head_dim) {
  if (kind == AttentionKind::kF32) return kernels.attention_f32_bytes(longest, head_dim);
  const bool has_bf16 = kernels.attention_bf16 != nullptr;
  const size_t bf16 = has_bf16 ? kernels.attention_bf16_bytes(longest, head_dim) : 0;
  return kind == AttentionKind::kBF16 ? bf16 : std::max(bf16, kernels.attention_codes_bytes(longest, head_dim));
}

void attention(const Kernels& kernels, const Share& share, const AttentionOp& op) {
  const int64_t element = op.kind == AttentionKind::kF32 ? 4 : 2;
  const int64_t out_element = op.out_is_bf16 ? 2 : 4;
  const int kv_heads = op.kv_heads == 0 ? op.heads : op.kv_heads;
  const int group = op.heads / kv_heads;
  const int64_t keys = static_cast<int64_t>(op.heads) * op.head_dim;
  const int64_t values = keys + static_cast<int64_t>(kv_heads) * op.head_dim;
  AttentionArgs args;
  args.stride = op.stride;
  args.out_stride = op.out_stride;
  args.out_is_bf16 = op.out_is_bf16;
  args.head_dim = op.head_dim;
  args.scale = op.scale == 0 ? 1.0F / std::sqrt(static_cast<float>(op.head_dim)) : op.scale;
  args.left = op.left;
  args.right = op.right;
  args.scratch = op.scratch;
  args.bias_stride = -1;
  const int sequences = static_cast<int>(op.starts.size()) - 1;
  int packed = -1;  // which sequence and head of keys the scratch holds
  for (int item = share.rank; item < sequences * op.heads; item += share.size) {
    const int sequence = item / op.heads;
    const int head = item % op.heads;
    const int begin = op.starts[sequence];
    const int64_t kv_column = static_cast<int64_t>(head / group) * op.head_dim;
    args.length = op.keys[sequence];
    args.query_end = op.starts[sequence + 1] - begin;
    const char* row = static_cast<const char*>(op.qkv) + begin * op.stride * element;
    args.q = row + static_cast<int64_t>(head) * op.head_dim * element;
    args.k = row + (keys + kv_column) * element;
    args.v = row + (values + kv_column) * element;
    args.out = static_cast<char*>(op.out) + (begin * op.out_stride + static_cast<int64_t>(head) * op.head_dim) * out_element;
    args.bias = op.bias == nullptr ? nullptr : op.bias + head * op.bias_head_stride;
    args.is_packed = packed == sequence * kv_heads + head / group;
    attention_of(kernels, op.kind, args.length)(args);
    packed = sequence * kv_heads + head / group;
    // The work done in between has scratch of its own.
    share.give_way();
  }
}

}  // namespace inlay
