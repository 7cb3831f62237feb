// What the tests of kernels share: tolerances, made-up operands, and a comparison that names its worst cell.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/pack.h"

namespace inlay {

// How far a result may be from the double-precision truth. All tolerances of the kernel tests stand here.
struct Tolerance {
  // A float sum, as a share of the sum of the magnitudes of its terms.
  static constexpr double kSum = 1e-6;
  // Rounding to bf16, as a share of the value.
  static constexpr double kBf16 = 1.0 / 256;
  // Activations: absolute error, and error as a share of |x|. Products whose results are rounded to bf16 or to codes of 8 bits
  // right after may take a cheaper GELU.
  static constexpr double kActivation = 3e-7;
  static constexpr double kActivationOfInput = 2e-7;
  static constexpr double kGeluBf16 = 4e-5;
  static constexpr double kGeluBf16OfInput = 5e-6;
  static constexpr double kGeluCodes = 2e-4;
  static constexpr double kGeluCodesOfInput = 3.5e-5;
  // Attention, as a share of the largest |v|: float weights, and weights kept in bf16.
  static constexpr double kAttention = 2e-6;
  static constexpr double kAttentionBf16 = 2.1e-3;
  static constexpr double kMaskedAttentionBf16 = 2.2e-3;  // few keys in sight, whose errors do not average out
  // Attention by codes of 8 bits: against exact attention, and against the same codes in double precision.
  static constexpr double kAttentionCodes = 2.5e-2;
  static constexpr double kAttentionSameCodes = 2e-6;
  // Layer norm, as a share of the largest result of the row.
  static constexpr double kNorm = 2e-6;
  // Codes of 8 bits: half a step, and a little for the arithmetic.
  static constexpr double kCode = 0.502;
};

// Collects found against wanted, and keeps the cell that is furthest beyond what is allowed.
class Comparison {
 public:
  void add(int row, int column, double found, double wanted, double allowed) {
    const double ratio = std::abs(found - wanted) / allowed;
    if (ratio <= worst_ && !std::isnan(ratio)) return;
    worst_ = std::isnan(ratio) ? HUGE_VAL : ratio;
    ::testing::Message message;
    message << "worst at row " << row << ", column " << column << ": found " << found << ", wanted " << wanted << ", off by "
            << std::abs(found - wanted) << ", allowed " << allowed;
    message_ = message.GetString();
  }
  ::testing::AssertionResult within() const {
    return worst_ <= 1 ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << message_;
  }

 private:
  double worst_ = 0;
  std::string message_;
};

// Numbers from a seed that failures print with SCOPED_TRACE(random.seed_text()).
class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed), engine_(seed) {}
  std::string seed_text() const { return "seed " + std::to_string(seed_); }
  float normal() { return normal_(engine_); }
  int in(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  std::vector<float> normals(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = normal();
    return values;
  }

 private:
  uint64_t seed_;
  std::mt19937_64 engine_;
  std::normal_distribution<float> normal_;
};

inline double exact_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kIdentity: return x;
    case Activation::kGelu: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kQuickGelu: return x / (1 + std::exp(-1.702 * x));
    case Activation::kRelu: return x < 0 ? 0 : x;
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
  }
  return x;
}

constexpr Activation kActivations[] = {Activation::kIdentity, Activation::kGelu, Activation::kGeluTanh, Activation::kQuickGelu,
                                       Activation::kRelu,     Activation::kSilu, Activation::kTanh,     Activation::kSigmoid};
constexpr Format kAllFormats[] = {Format::kF32, Format::kBF16, Format::kI8, Format::kHalfWeights, Format::kBF16Weights};

inline double activation_allowance(Format format, Activation activation, double x) {
  if (activation == Activation::kIdentity || activation == Activation::kRelu) return 0;
  const double size = std::abs(x);
  if (activation == Activation::kGelu && format == Format::kBF16) {
    return Tolerance::kGeluBf16 + Tolerance::kGeluBf16OfInput * size;
  }
  if (activation == Activation::kGelu && format == Format::kI8)
    return Tolerance::kGeluCodes + Tolerance::kGeluCodesOfInput * size;
  return Tolerance::kActivation + Tolerance::kActivationOfInput * size;
}

// The tables of this CPU as a parameter of tests: class X : public TableTest {}; EACH_TABLE(X);
class TableTest : public ::testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& table() const { return *GetParam(); }
};

std::vector<const Kernels*> tables_under_test();

inline std::string table_name(const ::testing::TestParamInfo<const Kernels*>& param) { return param.param->name; }

#define EACH_TABLE(suite) INSTANTIATE_TEST_SUITE_P(Tables, suite, ::testing::ValuesIn(tables_under_test()), table_name)

}  // namespace inlay
