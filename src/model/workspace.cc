#include <algorithm>

#include "model/encoder.h"

namespace inlay {
namespace {

// Rows are as wide as whole panels, since kernels write whole panels; and a vector wider, since conversions read whole vectors.
int64_t stride_for(const ComputePlan& plan, int columns) {
  const int panel = plan.kernels->panel(plan.format).panel_columns;
  const size_t padded = round_up(static_cast<size_t>(columns), static_cast<size_t>(panel));
  return static_cast<int64_t>(round_up(padded, 16));
}

}  // namespace

void PackedBatch::clear() {
  ids.clear();
  type_ids.clear();
  starts.assign(1, 0);
  keys.clear();
}

void PackedBatch::add(std::span<const int32_t> text, std::span<const int32_t> types, int seen) {
  ids.insert(ids.end(), text.begin(), text.end());
  if (types.empty())
    type_ids.resize(ids.size(), 0);
  else
    type_ids.insert(type_ids.end(), types.begin(), types.end());
  starts.push_back(static_cast<int>(ids.size()));
  keys.push_back(seen == 0 ? static_cast<int>(text.size()) : seen);
}

Workspace::Workspace(const ComputePlan& plan, const EncoderSizes& sizes, int max_tokens, int ranks)
    : plan_(plan),
      max_tokens_(max_tokens),
      hidden_stride_(stride_for(plan, sizes.hidden_size)),
      context_stride_(stride_for(plan, sizes.context_columns())),
      feed_stride_(stride_for(plan, (sizes.is_gated ? 2 : 1) * sizes.intermediate_size)),
      qkv_stride_(stride_for(plan, sizes.qkv_columns())) {
  using Qkv = EncoderSizes::Qkv;
  AttentionKind attention = AttentionKind::kF32;
  if (sizes.qkv == Qkv::kAsMultiplied) attention = plan.attention;
  if (sizes.qkv == Qkv::kFloatFirst) attention = plan.attention_of_changed;
  const bool narrow = attention != AttentionKind::kF32;
  const int head_dim = sizes.context_columns() / sizes.heads;
  scratch_bytes_ = round_up(attention_scratch_bytes(*plan.kernels, attention, max_tokens, head_dim), 64);
  // A spare row: kernels may read a vector beyond the last element.
  const size_t rows = static_cast<size_t>(max_tokens) + 1;
  const size_t feed_rows = static_cast<size_t>(std::min(max_tokens, kFeedRows)) + 1;
  hidden_ = Buffer(rows * hidden_stride_ * sizeof(float));
  if (sizes.is_pre_norm) normed_ = Buffer(rows * hidden_stride_ * sizeof(float));
  context_ = Buffer(rows * context_stride_ * sizeof(float));
  feed_ = Buffer(feed_rows * feed_stride_ * sizeof(float));
  qkv_ = Buffer(rows * qkv_stride_ * (narrow && sizes.qkv == Qkv::kAsMultiplied ? 2 : 4));
  if (narrow && sizes.qkv == Qkv::kFloatFirst) narrow_qkv_ = Buffer(rows * qkv_stride_ * sizeof(uint16_t));
  scratch_ = Buffer(scratch_bytes_ * static_cast<size_t>(ranks));
  if (is_narrow(plan.format)) {
    hidden_codes_ = Buffer(rows * std::max(hidden_stride_, context_stride_) * sizeof(uint16_t));
    feed_codes_ = Buffer(feed_rows * feed_stride_ * sizeof(uint16_t));
  }
  if (takes_codes(plan.format)) {
    scale_ = Buffer(rows * sizeof(float));
    minimum_ = Buffer(rows * sizeof(float));
  }
}

size_t Workspace::bytes() const {
  return hidden_.size() + normed_.size() + feed_.size() + qkv_.size() + narrow_qkv_.size() + context_.size() + scratch_.size() +
         hidden_codes_.size() + feed_codes_.size() + scale_.size() + minimum_.size();
}

size_t Workspace::touched_bytes() const {
  size_t sum = 0;
  for (const Buffer* buffer : {&hidden_, &normed_, &feed_, &qkv_, &narrow_qkv_, &context_, &scratch_, &hidden_codes_,
                               &feed_codes_, &scale_, &minimum_}) {
    sum += buffer->touched_bytes();
  }
  return sum;
}

Operand Workspace::narrow(Floats rows, Buffer& codes, int64_t stride) {
  if (codes.size() == 0) return {rows.data, rows.stride, nullptr, nullptr};
  Operand operand = {codes.as<>(), stride, scale_.as<float>(), minimum_.as<float>()};
  if (takes_codes(plan_.format)) operand.floats = rows;
  return operand;
}

// hidden, normed and context are never needed as operands at the same time, so they share their codes.
Operand Workspace::hidden_operand() { return narrow(hidden(), hidden_codes_, hidden_stride_); }
Operand Workspace::normed_operand() { return narrow(normed(), hidden_codes_, hidden_stride_); }
Operand Workspace::context_operand() { return narrow(context(), hidden_codes_, context_stride_); }
Operand Workspace::feed_operand() { return narrow(feed(), feed_codes_, feed_stride_); }

}  // namespace inlay
