// The table of kernels: one entry per kernel, its contract written once. Each instruction set has a table of its own.
//
// Kernels are pure functions on pointers: no allocation, no errors, no threads. Shapes have been checked by the caller.
// Every element of a result is computed by one sequence of operations that depends on its row and column only, never on how
// many rows or columns the call covers: this is what makes vectors bit-identical alone and in any batch. Rows of activations
// are padded: a buffer that holds n columns has a stride of at least padded_columns(n), and the padding is zero.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/activation.h"

namespace inlay {

// How the operands of a matrix product are stored.
enum class Format : uint8_t {
  kF32,          // float x float
  kBF16,         // bf16 x bf16, summed in float
  kI8,           // codes of 8 bits (scale and minimum per row) x s8 weights (scale per column), summed exactly in int32
  kHalfWeights,  // float activations x fp16 weights widened in registers: half the memory of kF32, same arithmetic
  kBF16Weights,  // float activations x bf16 weights widened in registers
  kI4,           // codes of 8 bits x 4-bit weights (scale per column and group of k), summed exactly within a group
  kL4,           // kI8 whose weights are kept as levels of 4 bits (tensor/levels.h) and become s8 as they are multiplied
};
constexpr int kFormats = 7;
// Whether activations are codes of 8 bits with a scale and a minimum a row.
constexpr bool takes_codes(Format format) { return format == Format::kI8 || format == Format::kI4 || format == Format::kL4; }
// Whether activations are anything but floats.
constexpr bool is_narrow(Format format) { return format == Format::kBF16 || takes_codes(format); }

// Weights lie in panels of `panel_columns` columns: [panel][k / k_step][column in panel][k_step], zero beyond the last column
// and beyond k. A panel holds k up to the next multiple of `k_block`. kI4 and kL4 keep the first and the second half of each
// k_step in the lower and the upper four bits of k_step / 2 bytes.
struct PanelLayout {
  int panel_columns = 0;
  int k_step = 0;         // consecutive k that lie together, because one instruction multiplies them
  int element_bytes = 0;  // of a packed weight, or of a byte of them
  // Of an element of A. kI8 takes codes of one byte, or of two where no instruction multiplies bytes.
  int activation_bytes = 0;
  // Of codes: they are first_code .. first_code + 255, signed if it is below zero. kL4 takes the codes of kI8.
  int first_code = 0;
  int k_block = 1;              // 1, or a multiple of k_step
  int weights_per_element = 1;  // 2 for kI4 and kL4
};

// Groups of 4-bit weights are a multiple of this many k, so that a group ends where a step of every table does.
constexpr int kGroupStep = 8;

// c[row, column] = activation(sum_k a[row, k] * b[k, column] + bias[column]) + residual[row, column]
struct GemmArgs {
  const void* a = nullptr;  // [rows, k] in the format's activation type
  int64_t a_stride = 0;     // bytes
  const void* b = nullptr;  // the whole packed matrix
  int rows = 0;
  int k = 0;            // padded to a multiple of k_step; a's padding up to here is finite
  int panel_begin = 0;  // columns [panel_begin, panel_end) * panel_columns are computed, the last panel whole
  int panel_end = 0;
  const float* bias = nullptr;  // [columns, padded]
  Activation activation = Activation::kIdentity;
  const float* residual = nullptr;  // [rows, columns] or null
  int64_t residual_stride = 0;      // floats
  void* c = nullptr;                // [rows, columns]
  int64_t c_stride = 0;             // elements
  bool c_is_bf16 = false;           // else float
  // Codes. The activation is a_scale[row] * code + a_min[row]. The weight is b_scale[column] * w for kI8 and kL4, where kL4 has
  // w = level_weight(code, b_factor of its column and group); for kI4 it is
  // b_group_scale * (code - zero) of its column and group, or, where all zeros are 8, b_group_scale * w with w = code - 8 in
  // two's complement.
  const float* a_scale = nullptr;  // [rows]
  const float* a_min = nullptr;    // [rows]
  const float* b_scale = nullptr;  // [columns, padded]
  const float* b_sum = nullptr;    // [columns, padded]: the sum of the weights over k, so that a_min costs one multiply-add
  int group = 0;                   // kI4 and kL4: k of a group, a multiple of kGroupStep; the last group may be shorter
  const uint16_t* b_group_scale = nullptr;  // kI4: fp16 [panels, groups, panel_columns]
  const uint8_t* b_zero = nullptr;          // kI4: 0..15 [panels, groups, panel_columns], or null where all zeros are 8
  const int8_t* b_factor = nullptr;         // kL4: -8..7 [panels, groups, panel_columns]
};

// No end to what a query sees on this side.
constexpr int kUnbounded = 1 << 30;

inline constexpr int kBiasPadding = 64;

// softmax(scale * q k^T + bias) v for one head of one sequence, rows [query_begin, query_end). All of q, k, v have the same
// stride. Query i sees the keys i - left to i + right: causal attention has right = 0. Queries may go on beyond the last key,
// as those do that nobody sees; each sees a key at least.
struct AttentionArgs {
  const void* q = nullptr;  // [query_end, head_dim], float or bf16 as the table entry says
  const void* k = nullptr;  // [length, head_dim]
  const void* v = nullptr;
  int64_t stride = 0;      // elements
  void* out = nullptr;     // [query_end, head_dim]
  int64_t out_stride = 0;  // elements
  bool out_is_bf16 = false;
  int length = 0;  // keys
  int head_dim = 0;
  float scale = 0;
  int query_begin = 0;
  int query_end = 0;
  int left = kUnbounded;  // both >= 0, so that a query that is a key too sees itself at least
  int right = kUnbounded;
  // Null, or what is added to the scaled score of query i and key j: bias[i * bias_stride + j]. With a stride of -1 this is a
  // table by distance, whose entry for i = j is bias[0]. Up to kBiasPadding floats beyond the last key may be read.
  const float* bias = nullptr;
  int64_t bias_stride = 0;
  // The scratch still holds k and v from the call before, which had the same k, v, length and head_dim.
  bool is_packed = false;
  void* scratch = nullptr;  // the table's bytes for this kind of attention, 64-byte aligned
};

// y = (x - mean) / sqrt(variance + eps) * gamma + beta for each row, statistics over `columns`. y may be x.
struct LayerNormArgs {
  const float* x = nullptr;      // [rows, columns]
  float* y = nullptr;            // [rows, columns]; padding is set to zero
  int64_t stride = 0;            // floats, of x and y
  const float* gamma = nullptr;  // [columns, padded with zeros]
  const float* beta = nullptr;
  int rows = 0;
  int columns = 0;
  float eps = 0;
};

// y = x / sqrt(mean(x^2) + eps) * gamma for each row. y may be x.
struct RmsNormArgs {
  const float* x = nullptr;  // [rows, columns]
  int64_t x_stride = 0;      // floats
  float* y = nullptr;        // [rows, columns], set to zero from `columns` up to `padded`
  int64_t y_stride = 0;
  const float* gamma = nullptr;  // [columns, padded with zeros]
  int rows = 0;
  int columns = 0;
  int padded = 0;
  float eps = 0;
};

// Turns the pairs (x[j], x[j + half]) of every head by an angle: rotary positions of one token, in place.
struct RotateArgs {
  float* x = nullptr;  // [heads, stride]
  int64_t stride = 0;  // floats from one head to the next
  int heads = 0;
  int half = 0;
  const float* cosine = nullptr;  // [half]
  const float* sine = nullptr;    // [half]
};

// y = activation(a) * b, where a and b lie side by side in a row of x: a first, or b first.
struct GateArgs {
  const float* x = nullptr;  // [rows, 2 * columns]
  int64_t x_stride = 0;      // floats
  void* y = nullptr;         // [rows, columns], float or bf16, set to zero from `columns` up to `padded`; floats may be x
  int64_t y_stride = 0;      // elements
  bool y_is_bf16 = false;
  Activation activation = Activation::kIdentity;
  bool activates_first = true;
  int rows = 0;
  int columns = 0;
  int padded = 0;
};

// Rows of floats to another activation type; x is zero from `columns` up to `padded`, and so many columns are converted.
struct ConvertArgs {
  const float* x = nullptr;  // [rows, columns]
  int64_t x_stride = 0;      // floats
  void* y = nullptr;         // bf16, or codes as the activation_bytes and first_code of the format's layout say
  int64_t y_stride = 0;      // elements
  // Codes only: x is about scale * code + minimum, the code being the nearest. With a first_code of 0, minimum is min x.
  float* scale = nullptr;    // [rows]
  float* minimum = nullptr;  // [rows]
  int rows = 0;
  int columns = 0;
  int padded = 0;
};

struct Kernels {
  const char* name = nullptr;  // "avx512_bf16"; INLAY_ISA takes it
  uint64_t needs = 0;          // bits of base/cpu.h CpuFeature
  int vector_floats = 1;       // rows are padded to a multiple of this

  PanelLayout layout[kFormats];
  void (*gemm[kFormats])(const GemmArgs&) noexcept = {};  // null where the instruction set has none

  void (*attention_f32)(const AttentionArgs&) noexcept = nullptr;
  void (*attention_bf16)(const AttentionArgs&) noexcept = nullptr;             // null without bf16 products
  size_t (*attention_f32_bytes)(int length, int head_dim) noexcept = nullptr;  // of scratch
  size_t (*attention_bf16_bytes)(int length, int head_dim) noexcept = nullptr;
  // q, k and v are bf16, and are multiplied as codes of 8 bits with scales that follow from this head of this text alone. Null
  // where no instruction makes that faster.
  void (*attention_codes)(const AttentionArgs&) noexcept = nullptr;
  size_t (*attention_codes_bytes)(int length, int head_dim) noexcept = nullptr;

  void (*layer_norm)(const LayerNormArgs&) noexcept = nullptr;
  void (*rms_norm)(const RmsNormArgs&) noexcept = nullptr;
  void (*rotate)(const RotateArgs&) noexcept = nullptr;
  void (*gate)(const GateArgs&) noexcept = nullptr;
  void (*to_bf16)(const ConvertArgs&) noexcept = nullptr;
  void (*to_codes)(const ConvertArgs&) noexcept = nullptr;                              // for kI8 and kL4
  void (*to_codes_i4)(const ConvertArgs&) noexcept = nullptr;                           // for kI4
  void (*activate)(Activation activation, float* x, int64_t count) noexcept = nullptr;  // in place

  // Runs register-only multiply-adds of the format for `iterations` rounds and gives the operations done (2 per multiply-add).
  double (*peak[kFormats])(int64_t iterations) noexcept = {};

  bool has(Format format) const { return gemm[static_cast<int>(format)] != nullptr; }
  const PanelLayout& panel(Format format) const { return layout[static_cast<int>(format)]; }
};

// The best table for this CPU, or the one INLAY_ISA names. An unknown or unsupported name ends the program with a message that
// lists the names there are. The same table for the whole life of the process.
const Kernels& kernels();

// Every table this CPU can run, scalar first; for tests and tuning.
struct KernelTables {
  const Kernels* const* begin_;
  size_t size_;
  const Kernels* const* begin() const { return begin_; }
  const Kernels* const* end() const { return begin_ + size_; }
  size_t size() const { return size_; }
};
KernelTables available_kernels();

// Whether bf16 products are at least as fast as float ones: true on AMD Zen 4 and later, false on Intel, whose AVX512_BF16 runs
// at half the rate of its float units (cpufp measurements: Zen 4 2.0x, Sapphire Rapids 0.5x), unless AMX does the products.
bool bf16_is_fast(const Kernels& table);

}  // namespace inlay
