// A matrix product for tests: logical operands, the packed form a table wants, and the double-precision truth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {

struct GemmShape {
  Format format = Format::kF32;
  int rows = 0;
  int columns = 0;
  int k = 0;
};

// Operands whose stored form is exact: floats already rounded to the type they are stored in. For kI8, `a` holds codes of
// 0..255 and `b` codes of -127..127.
struct GemmProblem {
  GemmShape shape;
  std::vector<float> a;  // [rows, k]
  std::vector<float> b;  // [columns, k]
  std::vector<float> bias;
  std::vector<float> residual;  // [rows, columns]
  std::vector<float> a_scale, a_min, b_scale;
};

inline float stored_weight(Format format, float x) {
  if (format == Format::kHalfWeights) return fp16_to_float(float_to_fp16(x));
  return format == Format::kF32 ? x : bf16_to_float(float_to_bf16(x));
}

inline GemmProblem make_problem(const GemmShape& shape, Random& random) {
  GemmProblem p;
  p.shape = shape;
  const size_t a_count = static_cast<size_t>(shape.rows) * shape.k;
  const size_t b_count = static_cast<size_t>(shape.columns) * shape.k;
  p.bias = random.normals(shape.columns);
  p.residual = random.normals(static_cast<size_t>(shape.rows) * shape.columns);
  if (shape.format != Format::kI8) {
    p.a = random.normals(a_count);
    p.b = random.normals(b_count);
    if (shape.format == Format::kBF16)
      std::for_each(p.a.begin(), p.a.end(), [](float& x) { x = stored_weight(Format::kBF16, x); });
    for (float& x : p.b) x = stored_weight(shape.format, x);
    return p;
  }
  for (size_t i = 0; i < a_count; ++i) p.a.push_back(static_cast<float>(random.in(0, 255)));
  for (size_t i = 0; i < b_count; ++i) p.b.push_back(static_cast<float>(random.in(-127, 127)));
  // Each column reaches 127, so that its scale is known.
  for (int column = 0; column < shape.columns; ++column)
    p.b[static_cast<size_t>(column) * shape.k] = column % 2 == 0 ? 127 : -127;
  for (int row = 0; row < shape.rows; ++row) {
    p.a_scale.push_back(0.01F + 0.001F * static_cast<float>(random.in(0, 20)));
    p.a_min.push_back(-p.a_scale.back() * static_cast<float>(random.in(90, 150)));
  }
  for (int column = 0; column < shape.columns; ++column) p.b_scale.push_back(0.001F * static_cast<float>(random.in(1, 9)));
  return p;
}

// A product before its activation, with the sum of the magnitudes of its terms.
struct ExactSum {
  double value = 0;
  double magnitude = 0;
};

inline ExactSum exact_sum(const GemmProblem& p, int row, int column) {
  const float* a = p.a.data() + static_cast<size_t>(row) * p.shape.k;
  const float* b = p.b.data() + static_cast<size_t>(column) * p.shape.k;
  const bool is_int = p.shape.format == Format::kI8;
  const double scale = is_int ? p.a_scale[row] : 1.0;
  const double low = is_int ? p.a_min[row] : 0.0;
  const double b_scale = is_int ? p.b_scale[column] : 1.0;
  ExactSum sum{p.bias[column], std::abs(static_cast<double>(p.bias[column]))};
  double dot = 0;
  double total = 0;
  double magnitude = 0;
  for (int k = 0; k < p.shape.k; ++k) {
    const double product = static_cast<double>(a[k]) * b[k];
    dot += product;
    magnitude += std::abs(product);
    total += b[k];
  }
  sum.value += scale * b_scale * dot + low * b_scale * total;
  // Integers are summed exactly, so only the few float operations after the sum may err.
  sum.magnitude += is_int ? std::abs(scale * b_scale * dot) + std::abs(low * b_scale * total) : magnitude;
  return sum;
}

// The buffers of a problem as a table wants them; `args` may be narrowed before the call. Every buffer is as small as the
// contract allows, and what the kernel must not read is NaN or a number that would show.
class PackedGemm {
 public:
  PackedGemm(const Kernels& table, const GemmProblem& problem)
      : table_(table), problem_(problem), layout_(table.panel(problem.shape.format)) {
    shape_ = packed_shape(layout_, problem.shape.columns, problem.shape.k);
    a_min_ = problem.a_min;
    pack_a();
    pack_b();
    const int columns = shape_.padded_columns;
    bias_ = padded(problem.bias, columns);
    c_.assign(static_cast<size_t>(problem.shape.rows) * columns, kUntouched);
    fill_args();
  }

  static constexpr float kUntouched = 12345.5F;

  GemmArgs args;

  void use_residual() {
    residual_.assign(static_cast<size_t>(problem_.shape.rows) * shape_.padded_columns, 0.0F);
    for (int row = 0; row < problem_.shape.rows; ++row) {
      std::copy_n(problem_.residual.begin() + static_cast<ptrdiff_t>(row) * problem_.shape.columns, problem_.shape.columns,
                  residual_.begin() + static_cast<ptrdiff_t>(row) * shape_.padded_columns);
    }
    args.residual = residual_.data();
    args.residual_stride = shape_.padded_columns;
  }
  void use_bf16_output() {
    c_bf16_.assign(c_.size(), float_to_bf16(kUntouched));
    args.c = c_bf16_.data();
    args.c_is_bf16 = true;
  }
  // Rows [begin, begin + count) of the problem into the same rows of the result.
  void narrow_rows(int begin, int count) {
    const int64_t element = args.c_is_bf16 ? 2 : 4;
    args.a = a_.data() + begin * args.a_stride;
    args.rows = count;
    args.c = (args.c_is_bf16 ? reinterpret_cast<char*>(c_bf16_.data()) : reinterpret_cast<char*>(c_.data())) +
             begin * args.c_stride * element;
    if (args.residual != nullptr) args.residual = residual_.data() + begin * args.residual_stride;
    if (args.a_scale != nullptr) args.a_scale = problem_.a_scale.data() + begin;
    if (args.a_min != nullptr) args.a_min = a_min_.data() + begin;
  }
  void run() { table_.gemm[static_cast<int>(problem_.shape.format)](args); }
  void clear() {
    std::fill(c_.begin(), c_.end(), kUntouched);
    std::fill(c_bf16_.begin(), c_bf16_.end(), float_to_bf16(kUntouched));
  }

  float result(int row, int column) const {
    const size_t at = static_cast<size_t>(row) * shape_.padded_columns + column;
    return args.c_is_bf16 ? bf16_to_float(c_bf16_[at]) : c_[at];
  }
  const PackedShape& shape() const { return shape_; }
  const PanelLayout& layout() const { return layout_; }
  std::vector<char>& panels() { return b_; }

 private:
  template <class Element, class Convert>
  void store_a(const Convert& convert) {
    args.a_stride = shape_.padded_k * static_cast<int64_t>(sizeof(Element));
    a_.assign(static_cast<size_t>(problem_.shape.rows) * args.a_stride, 0);
    for (int row = 0; row < problem_.shape.rows; ++row) {
      Element* out = reinterpret_cast<Element*>(a_.data() + row * args.a_stride);
      for (int k = 0; k < problem_.shape.k; ++k) {
        out[k] = convert(problem_.a[static_cast<size_t>(row) * problem_.shape.k + k]);
      }
      // Anything finite may stand in the padding.
      for (int k = problem_.shape.k; k < shape_.padded_k; ++k) out[k] = convert(77.0F);
    }
  }
  void pack_a() {
    if (problem_.shape.format == Format::kBF16) return store_a<uint16_t>(float_to_bf16);
    if (problem_.shape.format != Format::kI8) return store_a<float>([](float x) { return x; });
    if (layout_.first_code < 0) return store_shifted_a();
    if (layout_.activation_bytes == 1) return store_a<uint8_t>([](float x) { return static_cast<uint8_t>(x); });
    store_a<int16_t>([](float x) { return static_cast<int16_t>(x); });
  }
  // Codes from -128 on stand for the same activations when the minimum of each row is raised.
  void store_shifted_a() {
    store_a<int8_t>([](float x) { return static_cast<int8_t>(x - 128); });
    for (size_t row = 0; row < a_min_.size(); ++row) a_min_[row] += 128 * problem_.a_scale[row];
  }
  void pack_b() {
    b_.assign(shape_.bytes, 0);
    b_sum_.assign(shape_.padded_columns, 0.0F);
    packed_scale_.assign(shape_.padded_columns, 0.0F);
    std::vector<float> row(problem_.shape.k);
    for (int column = 0; column < problem_.shape.columns; ++column) {
      const float scale = problem_.shape.format == Format::kI8 ? problem_.b_scale[column] : 1.0F;
      for (int k = 0; k < problem_.shape.k; ++k) {
        row[k] = problem_.b[static_cast<size_t>(column) * problem_.shape.k + k] * scale;
      }
      pack_b_column(column, row.data());
    }
  }
  void pack_b_column(int column, const float* row) {
    switch (problem_.shape.format) {
      case Format::kF32: return pack_column_f32(layout_, shape_, column, row, b_.data());
      case Format::kHalfWeights: return pack_column_fp16(layout_, shape_, column, row, b_.data());
      case Format::kBF16:
      case Format::kBF16Weights: return pack_column_bf16(layout_, shape_, column, row, b_.data());
      case Format::kI8:
      case Format::kI4:
      case Format::kL4: break;
    }
    const ColumnScale scale = pack_column_i8(layout_, shape_, column, row, b_.data());
    packed_scale_[column] = scale.scale;
    b_sum_[column] = scale.sum;
  }
  static std::vector<float> padded(std::vector<float> values, size_t count) {
    values.resize(count, 0.0F);
    return values;
  }
  void fill_args() {
    args.a = a_.data();
    args.b = b_.data();
    args.rows = problem_.shape.rows;
    args.k = shape_.padded_k;
    args.panel_end = shape_.panels;
    args.bias = bias_.data();
    args.c = c_.data();
    args.c_stride = shape_.padded_columns;
    if (problem_.shape.format != Format::kI8) return;
    args.a_scale = problem_.a_scale.data();
    args.a_min = a_min_.data();
    args.b_scale = packed_scale_.data();
    args.b_sum = b_sum_.data();
  }

  const Kernels& table_;
  const GemmProblem& problem_;
  PanelLayout layout_;
  PackedShape shape_;
  std::vector<char> a_, b_;
  std::vector<float> bias_, residual_, a_min_, packed_scale_, b_sum_, c_;
  std::vector<uint16_t> c_bf16_;
};

inline const char* format_name(Format format) {
  static constexpr const char* kNames[] = {"f32", "bf16", "i8", "half_weights", "bf16_weights"};
  return kNames[static_cast<int>(format)];
}

inline std::string describe(const GemmShape& shape) {
  return std::string(format_name(shape.format)) + ", " + std::to_string(shape.rows) + " rows, " +
         std::to_string(shape.columns) + " columns, k " + std::to_string(shape.k);
}

}  // namespace inlay
