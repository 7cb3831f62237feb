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

// Weights of a normalisation, padded for the kernels.
struct NormWeights {
  Buffer gamma;  // [columns, padded with zeros]
  Buffer beta;
  int columns = 0;  // 0: no norm here
  float eps = 0;
  bool is_rms = false;  // root-mean-square norm, without mean and beta

  bool exists() const { return columns > 0; }
  NormWeights() = default;
  NormWeights(std::span<const float> gamma_values, std::span<const float> beta_values, float epsilon);
};

// Normalises rows in place.
void layer_norm(const Kernels& kernels, const Share& share, const NormWeights& norm, Floats x, int rows);

// Normalises rows of `from` into `to`, which may be the same. Both have the same stride.
void normalise(const Kernels& kernels, const Share& share, const NormWeights& norm, Floats from, Floats to, int rows);

// y = activation(a) * b for rows of `input` that hold a and b side by side, as the activations of `format`. Float formats, and
// kI8 before its codes, are written over the input.
struct GateOp {
  Format format = Format::kF32;
  Floats input;  // [rows, 2 * columns]
  int rows = 0;
  int columns = 0;
  Activation activation = Activation::kIdentity;
  bool activates_first = true;
  Operand output;
};
void gate(const Kernels& kernels, const Share& share, const GateOp& op);

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

// What attention multiplies. q, k and v are floats for kF32 and bf16 for the others.
enum class AttentionKind : uint8_t {
  kF32,
  kBF16,
  kCodes,  // codes of 8 bits; bf16 in texts so short that making codes would cost more than it saves
};

// Attention of every head over every sequence. q, k and v lie side by side in `qkv`
// [tokens, (heads + 2 * kv_heads) * head_dim]; query head h reads key and value head h / (heads / kv_heads).
struct AttentionOp {
  const void* qkv = nullptr;
  int64_t stride = 0;  // elements
  AttentionKind kind = AttentionKind::kF32;
  void* out = nullptr;     // [tokens, heads * head_dim]
  int64_t out_stride = 0;  // elements
  bool out_is_bf16 = false;
  std::span<const int> starts;  // sequence i is tokens [starts[i], starts[i + 1])
  std::span<const int> keys;    // of sequence i the first keys[i] tokens are seen, by all of its tokens
  int heads = 0;
  int head_dim = 0;
  int kv_heads = 0;       // 0: as many as heads
  float scale = 0;        // 0: 1 / sqrt(head_dim)
  int left = kUnbounded;  // what a query sees, see AttentionArgs
  int right = kUnbounded;
  // Null, or tables by distance: entry j - i of head h is bias[h * bias_head_stride + j - i].
  const float* bias = nullptr;
  int64_t bias_head_stride = 0;
  void* scratch = nullptr;  // attention_scratch_bytes() of the longest sequence, this thread's own
};
void attention(const Kernels& kernels, const Share& share, const AttentionOp& op);
size_t attention_scratch_bytes(const Kernels& kernels, AttentionKind kind, int longest, int head_dim);

}  // namespace inlay
