// The plain version of every kernel: the truth that the vector tables are tested against, and the fallback for any CPU.
// Nothing is shared with them but the argument structs.
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/levels.h"

namespace inlay {
namespace {

constexpr int kColumns = 16;

float bf16_value(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float x;
  memcpy(&x, &wide, sizeof(x));
  return x;
}

uint16_t bf16_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  if (isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float fp16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const float fraction = static_cast<float>(bits & 0x3ff);
  float x = ldexpf(exponent == 0 ? fraction : fraction + 1024.0F, exponent == 0 ? -24 : exponent - 25);
  if (exponent == 0x1f) x = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000U) != 0 ? -x : x;
}

float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::kIdentity: return x;
    case Activation::kGelu: return 0.5F * x * (1.0F + erff(x * 0.70710678F));
    case Activation::kGeluTanh: return 0.5F * x * (1.0F + tanhf(0.79788456F * (x + 0.044715F * x * x * x)));
    case Activation::kQuickGelu: return x / (1.0F + expf(-1.702F * x));
    case Activation::kRelu: return x < 0 ? 0 : x;
    case Activation::kSilu: return x / (1.0F + expf(-x));
    case Activation::kTanh: return tanhf(x);
    case Activation::kSigmoid: return 1.0F / (1.0F + expf(-x));
  }
  return x;
}

const char* left_at(const GemmArgs& g, int row) { return static_cast<const char*>(g.a) + row * g.a_stride; }

float dot_f32(const GemmArgs& g, int row, const void* panel, int column) {
  const float* a = reinterpret_cast<const float*>(left_at(g, row));
  const float* b = static_cast<const float*>(panel) + column;
  float sum = 0;
  for (int k = 0; k < g.k; ++k) sum += a[k] * b[k * kColumns];
  return sum;
}

template <float (*kWiden)(uint16_t)>
float dot_half_weights(const GemmArgs& g, int row, const void* panel, int column) {
  const float* a = reinterpret_cast<const float*>(left_at(g, row));
  const uint16_t* b = static_cast<const uint16_t*>(panel) + column;
  float sum = 0;
  for (int k = 0; k < g.k; ++k) sum += a[k] * kWiden(b[k * kColumns]);
  return sum;
}

float dot_bf16(const GemmArgs& g, int row, const void* panel, int column) {
  const uint16_t* a = reinterpret_cast<const uint16_t*>(left_at(g, row));
  const uint16_t* b = static_cast<const uint16_t*>(panel) + column;
  float sum = 0;
  for (int k = 0; k < g.k; ++k) sum += bf16_value(a[k]) * bf16_value(b[k * kColumns]);
  return sum;
}

int32_t dot_i8(const GemmArgs& g, int row, const void* panel, int column) {
  const uint8_t* a = reinterpret_cast<const uint8_t*>(left_at(g, row));
  const int8_t* b = static_cast<const int8_t*>(panel) + column;
  int32_t sum = 0;
  for (int k = 0; k < g.k; ++k) sum += a[k] * b[k * kColumns];
  return sum;
}

// `value(row, panel, column, whole_column)` gives the product with its bias.
template <class Value>
void each_element(const GemmArgs& g, int element_bytes, const Value& value) {
  const int64_t panel_bytes = static_cast<int64_t>(g.k) * kColumns * element_bytes;
  for (int panel = g.panel_begin; panel < g.panel_end; ++panel) {
    const char* b = static_cast<const char*>(g.b) + panel * panel_bytes;
    for (int row = 0; row < g.rows; ++row) {
      for (int c = 0; c < kColumns; ++c) {
        const int column = panel * kColumns + c;
        float x = activated(g.activation, value(row, b, c, column));
        if (g.residual != nullptr) x += g.residual[row * g.residual_stride + column];
        const int64_t at = row * g.c_stride + column;
        if (g.c_is_bf16)
          static_cast<uint16_t*>(g.c)[at] = bf16_bits(x);
        else
          static_cast<float*>(g.c)[at] = x;
      }
    }
  }
}

template <float (*kDot)(const GemmArgs&, int, const void*, int), int kBytes>
void gemm_float(const GemmArgs& g) noexcept {
  each_element(g, kBytes, [&](int row, const void* b, int c, int column) { return kDot(g, row, b, c) + g.bias[column]; });
}

void gemm_i8(const GemmArgs& g) noexcept {
  each_element(g, 1, [&](int row, const void* b, int c, int column) {
    const float sum = static_cast<float>(dot_i8(g, row, b, c)) * g.b_scale[column];
    return g.a_scale[row] * sum + (g.a_min[row] * g.b_sum[column] + g.bias[column]);
  });
}

// The float operations are those of the other tables, one for one, so that sums of groups have their bits.
float dot_i4(const GemmArgs& g, int row, int panel, int c) {
  const uint8_t* a = reinterpret_cast<const uint8_t*>(left_at(g, row));
  const uint8_t* b = static_cast<const uint8_t*>(g.b) + static_cast<int64_t>(panel) * (g.k / 2) * kColumns + c;
  const int64_t first = static_cast<int64_t>(panel) * ((g.k + g.group - 1) / g.group) * kColumns + c;
  float sum = 0;
  for (int begin = 0, i = 0; begin < g.k; begin += g.group, ++i) {
    const int64_t at = first + static_cast<int64_t>(i) * kColumns;
    int32_t exact = 0;
    for (int k = begin; k < g.k && k < begin + g.group; ++k) {
      const int code = (b[k / 2 * kColumns] >> (k % 2 == 0 ? 0 : 4)) & 15;
      exact += a[k] * (g.b_zero == nullptr ? (code ^ 8) - 8 : code - g.b_zero[at]);
    }
    sum = fmaf(static_cast<float>(exact), fp16_value(g.b_group_scale[at]), sum);
  }
  return sum;
}

void gemm_i4(const GemmArgs& g) noexcept {
  each_element(g, 1, [&](int row, const void*, int c, int column) {
    return fmaf(g.a_scale[row], dot_i4(g, row, column / kColumns, c), fmaf(g.a_min[row], g.b_sum[column], g.bias[column]));
  });
}

int32_t dot_l4(const GemmArgs& g, int row, int panel, int c) {
  const uint8_t* a = reinterpret_cast<const uint8_t*>(left_at(g, row));
  const uint8_t* b = static_cast<const uint8_t*>(g.b) + static_cast<int64_t>(panel) * (g.k / 2) * kColumns + c;
  const int64_t first = static_cast<int64_t>(panel) * ((g.k + g.group - 1) / g.group) * kColumns + c;
  int32_t sum = 0;
  for (int k = 0; k < g.k; ++k) {
    const int code = (b[k / 2 * kColumns] >> (k % 2 == 0 ? 0 : 4)) & 15;
    sum += a[k] * level_weight(code, g.b_factor[first + static_cast<int64_t>(k / g.group) * kColumns]);
  }
  return sum;
}

// The float operations are those of the other tables, one for one.
void gemm_l4(const GemmArgs& g) noexcept {
  each_element(g, 1, [&](int row, const void*, int c, int column) {
    const float sum = static_cast<float>(dot_l4(g, row, column / kColumns, c)) * g.b_scale[column];
    return fmaf(g.a_scale[row], sum, fmaf(g.a_min[row], g.b_sum[column], g.bias[column]));
  });
}

// `load` reads an element as a float. Weights of the softmax are kept in scratch, one float a key.
template <class Element, float (*kLoad)(Element)>
void attention(const AttentionArgs& a) noexcept {
  float* weights = static_cast<float*>(a.scratch);
  const Element* q = static_cast<const Element*>(a.q);
  const Element* k = static_cast<const Element*>(a.k);
  const Element* v = static_cast<const Element*>(a.v);
  for (int query = a.query_begin; query < a.query_end; ++query) {
    const int first = query > a.left ? query - a.left : 0;
    const int end = a.length - 1 - query > a.right ? query + a.right + 1 : a.length;
    float highest = -INFINITY;
    for (int key = first; key < end; ++key) {
      float sum = 0;
      for (int d = 0; d < a.head_dim; ++d) sum += kLoad(q[query * a.stride + d]) * kLoad(k[key * a.stride + d]);
      weights[key] = sum * a.scale;
      if (a.bias != nullptr) weights[key] += a.bias[query * a.bias_stride + key];
      highest = weights[key] > highest || isnan(weights[key]) ? weights[key] : highest;
    }
    float total = 0;
    for (int key = first; key < end; ++key) {
      weights[key] = expf(weights[key] - highest);
      total += weights[key];
    }
    for (int d = 0; d < a.head_dim; ++d) {
      float sum = 0;
      for (int key = first; key < end; ++key) sum += weights[key] * kLoad(v[key * a.stride + d]);
      const int64_t at = query * a.out_stride + d;
      if (a.out_is_bf16)
        static_cast<uint16_t*>(a.out)[at] = bf16_bits(sum / total);
      else
        static_cast<float*>(a.out)[at] = sum / total;
    }
  }
}

float same(float x) { return x; }

size_t attention_bytes(int length, int) noexcept { return (static_cast<size_t>(length) * sizeof(float) + 63) / 64 * 64; }

void layer_norm(const LayerNormArgs& n) noexcept {
  for (int row = 0; row < n.rows; ++row) {
    const float* x = n.x + row * n.stride;
    float* y = n.y + row * n.stride;
    double mean = 0;
    double variance = 0;
    for (int c = 0; c < n.columns; ++c) mean += x[c];
    mean /= n.columns;
    for (int c = 0; c < n.columns; ++c) variance += (x[c] - mean) * (x[c] - mean);
    const double inverse = 1.0 / sqrt(variance / n.columns + static_cast<double>(n.eps));
    for (int c = 0; c < n.columns; ++c) y[c] = static_cast<float>((x[c] - mean) * inverse) * n.gamma[c] + n.beta[c];
  }
}

void rms_norm(const RmsNormArgs& n) noexcept {
  for (int row = 0; row < n.rows; ++row) {
    const float* x = n.x + row * n.x_stride;
    float* y = n.y + row * n.y_stride;
    double squares = 0;
    for (int c = 0; c < n.columns; ++c) squares += static_cast<double>(x[c]) * x[c];
    const double inverse = 1.0 / sqrt(squares / n.columns + static_cast<double>(n.eps));
    for (int c = 0; c < n.columns; ++c) y[c] = static_cast<float>(x[c] * inverse) * n.gamma[c];
    for (int c = n.columns; c < n.padded; ++c) y[c] = 0;
  }
}

void rotate(const RotateArgs& a) noexcept {
  for (int head = 0; head < a.heads; ++head) {
    float* low = a.x + head * a.stride;
    for (int j = 0; j < a.half; ++j) {
      const float x = low[j];
      const float y = low[j + a.half];
      low[j] = x * a.cosine[j] - y * a.sine[j];
      low[j + a.half] = y * a.cosine[j] + x * a.sine[j];
    }
  }
}

void gate(const GateArgs& g) noexcept {
  for (int row = 0; row < g.rows; ++row) {
    const float* x = g.x + row * g.x_stride;
    for (int c = 0; c < g.padded; ++c) {
      float value = 0;
      if (c < g.columns) {
        const float active = g.activates_first ? x[c] : x[g.columns + c];
        value = activated(g.activation, active) * (g.activates_first ? x[g.columns + c] : x[c]);
      }
      const int64_t at = row * g.y_stride + c;
      if (g.y_is_bf16)
        static_cast<uint16_t*>(g.y)[at] = bf16_bits(value);
      else
        static_cast<float*>(g.y)[at] = value;
    }
  }
}

void to_bf16(const ConvertArgs& a) noexcept {
  for (int row = 0; row < a.rows; ++row) {
    uint16_t* y = static_cast<uint16_t*>(a.y) + row * a.y_stride;
    for (int c = 0; c < a.padded; ++c) y[c] = bf16_bits(a.x[row * a.x_stride + c]);
  }
}

void to_codes(const ConvertArgs& a) noexcept {
  for (int row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.x_stride;
    uint8_t* y = static_cast<uint8_t*>(a.y) + row * a.y_stride;
    float low = x[0];
    float high = x[0];
    float spread = 0;
    for (int c = 0; c < a.columns; ++c) {
      low = x[c] < low ? x[c] : low;
      high = x[c] > high ? x[c] : high;
      spread += x[c] * 0.0F;
    }
    low += spread;
    const float range = high - low;
    a.scale[row] = range * (1.0F / 255.0F);
    a.minimum[row] = low;
    const float inverse = range > 0 ? 255.0F / range : 0.0F;
    for (int c = 0; c < a.padded; ++c) {
      const float code = nearbyintf(fmaf(x[c], inverse, -low * inverse));
      y[c] = static_cast<uint8_t>(code > 0 ? (code < 255 ? code : 255.0F) : 0.0F);
    }
  }
}

void activate(Activation activation, float* x, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i) x[i] = activated(activation, x[i]);
}

double peak(int64_t iterations) noexcept {
  float sums[8] = {};
  for (int64_t n = 0; n < iterations; ++n) {
    for (float& sum : sums) {
      sum += sum * 0.5F;
      __asm__ volatile("" : "+m"(sum));
    }
  }
  return 16.0 * static_cast<double>(iterations);
}

}  // namespace

void fill_scalar(Kernels& table) {
  const auto set = [&table](Format format, void (*gemm)(const GemmArgs&) noexcept, int element_bytes, int activation_bytes) {
    const int index = static_cast<int>(format);
    table.layout[index] = {kColumns, 1, element_bytes, activation_bytes};
    table.gemm[index] = gemm;
    table.peak[index] = peak;
  };
  table.vector_floats = 1;
  set(Format::kF32, gemm_float<dot_f32, 4>, 4, 4);
  set(Format::kBF16, gemm_float<dot_bf16, 2>, 2, 2);
  set(Format::kI8, gemm_i8, 1, 1);
  set(Format::kHalfWeights, gemm_float<dot_half_weights<fp16_value>, 2>, 2, 4);
  set(Format::kBF16Weights, gemm_float<dot_half_weights<bf16_value>, 2>, 2, 4);
  set(Format::kI4, gemm_i4, 1, 1);
  set(Format::kL4, gemm_l4, 1, 1);
  constexpr Format kTwoInAByte[] = {Format::kI4, Format::kL4};
  for (const Format format : kTwoInAByte) {
    table.layout[static_cast<int>(format)].k_step = 2;
    table.layout[static_cast<int>(format)].weights_per_element = 2;
  }
  table.attention_f32 = attention<float, same>;
  table.attention_bf16 = attention<uint16_t, bf16_value>;
  table.attention_f32_bytes = attention_bytes;
  table.attention_bf16_bytes = attention_bytes;
  table.layer_norm = layer_norm;
  table.rms_norm = rms_norm;
  table.rotate = rotate;
  table.gate = gate;
  table.to_bf16 = to_bf16;
  table.to_codes = to_codes;
  table.to_codes_i4 = to_codes;
  table.activate = activate;
}

}  // namespace inlay
