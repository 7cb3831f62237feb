// Fills the float entries of a table. Included after a vec.h by the folder that owns the table.
#pragma once

#include "kernels/generic/attention.inl.h"
#include "kernels/generic/blocks.inl.h"
#include "kernels/generic/format.inl.h"
#include "kernels/generic/rows.inl.h"

namespace inlay {
namespace {

inline void fill_float(Kernels& table) {
  table.vector_floats = kLanes;
  set_format<F32>(table, Format::kF32, gemm<F32, FloatResult, Precision::kFloat>, 4, 4);
  set_format<F32ByFp16>(table, Format::kHalfWeights, gemm<F32ByFp16, FloatResult, Precision::kFloat>, 2, 4);
  set_format<F32ByBf16>(table, Format::kBF16Weights, gemm<F32ByBf16, FloatResult, Precision::kFloat>, 2, 4);
  table.attention_f32 = attention<FloatHead>;
  table.attention_f32_bytes = attention_bytes<FloatHead>;
  table.layer_norm = layer_norm;
  table.rms_norm = rms_norm;
  table.rotate = rotate;
  table.gate = gate;
  table.to_bf16 = to_bf16;
  table.activate = activate;
}

}  // namespace
}  // namespace inlay
