// The operations an encoder is made of, besides linear(). Each runs one thread's share; the caller synchronises the team
// afterwards.
#pragma once

#include <cstdint>
#include <span>

#include "backend/linear.h"
#include "base/team.h"
#include "kernels/kernels.h"
#include "tensor/buffer.h"

namespace inlay {

// Layer normalisation weights, padded for the kernels.
struct NormWeights {
  Buffer gamma;  // [columns, padded with zeros]
  Buffer beta;
  int columns = 0;
  float eps = 0;

  NormWeights() = default;
  NormWeights(std::span<const float> gamma_values, std::span<const float> beta_values, float epsilon);
};

// Normalises rows in place.
void layer_norm(const Kernels& kernels, const Share& share, const NormWeights& norm, Floats x, int rows);

// Turns rows of floats [rows, columns] into the activations of `format`; does nothing for float formats, whose operand is the
// rows.
struct PrepareOp {
  Format format = Format::kF32;
  Floats input;  // [rows, columns]
  int rows = 0;
  int columns = 0;
  Operand output;
};
void prepare(const Kernels& kernels, const Share& share, const PrepareOp& op);

// Attention of every head over every sequence. q, k and v lie side by side in `qkv` [tokens, 3 * heads * head_dim].
struct AttentionOp {
  const void* qkv = nullptr;
  int64_t stride = 0;      // elements
  bool is_bf16 = false;    // what qkv holds
  void* out = nullptr;     // [tokens, heads * head_dim]
  int64_t out_stride = 0;  // elements
  bool out_is_bf16 = false;
  std::span<const int> starts;  // sequence i is tokens [starts[i], starts[i + 1])
  int heads = 0;
  int head_dim = 0;
  void* scratch = nullptr;  // attention_scratch_bytes() of the longest sequence, this thread's own
};
void attention(const Kernels& kernels, const Share& share, const AttentionOp& op);
size_t attention_scratch_bytes(const Kernels& kernels, bool is_bf16, int longest, int head_dim);

}  // namespace inlay
