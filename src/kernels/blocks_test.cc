// Root-mean-square norm, rotary positions and gated activations, against double precision.
#include <algorithm>

#include "kernels/kernels_testing.h"
#include "tensor/half.h"

namespace inlay {
namespace {

constexpr int kColumns[] = {1, 3, 7, 15, 16, 17, 31, 33, 44, 100, 256, 384};

int padded_to(int columns, int multiple) { return (columns + multiple - 1) / multiple * multiple; }

class RmsNorm : public TableTest {
 protected:
  RmsNormArgs args_for(std::vector<float>& x, int rows, int columns, int stride, const std::vector<float>& gamma) {
    RmsNormArgs args;
    args.x = x.data();
    args.y = x.data();
    args.x_stride = args.y_stride = stride;
    args.gamma = gamma.data();
    args.rows = rows;
    args.columns = args.padded = columns;
    args.eps = 1e-6F;
    return args;
  }
};
EACH_TABLE(RmsNorm);

TEST_P(RmsNorm, EqualsDoublePrecisionAndKeepsWhatFollowsARow) {
  Random random(41);
  SCOPED_TRACE(random.seed_text());
  for (const int columns : kColumns) {
    const int stride = padded_to(columns, table().vector_floats) + 5;
    std::vector<float> gamma = random.normals(columns);
    gamma.resize(columns + 64, 0.0F);
    std::vector<float> x = random.normals(static_cast<size_t>(4) * stride);
    x[1 * stride] = 300;  // an outlier channel
    const std::vector<float> before = x;
    RmsNormArgs args = args_for(x, 4, columns, stride, gamma);
    const bool pads = columns % 2 == 1;
    if (pads) args.padded = padded_to(columns, table().vector_floats);
    table().rms_norm(args);
    Comparison comparison;
    for (int row = 0; row < 4; ++row) {
      const float* in = before.data() + static_cast<ptrdiff_t>(row) * stride;
      double squares = 0;
      for (int c = 0; c < columns; ++c) squares += double{in[c]} * in[c];
      const double inverse = 1 / std::sqrt(squares / columns + 1e-6);
      for (int c = 0; c < columns; ++c) {
        const double wanted = in[c] * inverse * gamma[c];
        comparison.add(row, c, x[row * stride + c], wanted, 1e-6 * (1 + std::abs(wanted)));
      }
      for (int c = columns; c < stride; ++c) {
        EXPECT_EQ(x[row * stride + c], c < args.padded ? 0.0F : in[c]) << "row " << row << ", column " << c;
      }
    }
    EXPECT_TRUE(comparison.within()) << columns << " columns";
  }
}

TEST_P(RmsNorm, ABadRowSpoilsItselfOnly) {
  Random random(42);
  const std::vector<float> gamma(64, 1.0F);
  for (const float bad : {static_cast<float>(NAN), HUGE_VALF}) {
    std::vector<float> x = random.normals(3 * 48);
    x[48 + 30] = bad;
    table().rms_norm(args_for(x, 3, 41, 48, gamma));
    for (int row = 0; row < 3; ++row) EXPECT_EQ(std::isnan(x[row * 48 + 30]), row == 1) << row;
    for (int c = 0; c < 41; ++c) EXPECT_TRUE(std::isfinite(x[c])) << c;
  }
}

class Rotate : public TableTest {};
EACH_TABLE(Rotate);

TEST_P(Rotate, EqualsDoublePrecisionAndKeepsWhatIsNotRotary) {
  Random random(43);
  SCOPED_TRACE(random.seed_text());
  for (const int half : {1, 2, 5, 8, 11, 16, 17, 32, 64, 128}) {
    const int stride = 2 * half + 3;
    std::vector<float> x = random.normals(static_cast<size_t>(3) * stride);
    const std::vector<float> before = x;
    std::vector<float> cosine(half), sine(half);
    for (int j = 0; j < half; ++j) {
      const float angle = 10 * random.normal();
      cosine[j] = std::cos(angle);
      sine[j] = std::sin(angle);
    }
    table().rotate({x.data(), stride, 3, half, cosine.data(), sine.data()});
    Comparison comparison;
    for (int head = 0; head < 3; ++head) {
      for (int j = 0; j < half; ++j) {
        const double a = before[head * stride + j];
        const double b = before[head * stride + j + half];
        comparison.add(head, j, x[head * stride + j], a * cosine[j] - b * sine[j], 3e-7 * (std::abs(a) + std::abs(b)) + 1e-30);
        comparison.add(head, j + half, x[head * stride + j + half], b * cosine[j] + a * sine[j],
                       3e-7 * (std::abs(a) + std::abs(b)) + 1e-30);
      }
      for (int j = 2 * half; j < stride; ++j) EXPECT_EQ(x[head * stride + j], before[head * stride + j]);
    }
    EXPECT_TRUE(comparison.within()) << "half " << half;
  }
}

class Gate : public TableTest {};
EACH_TABLE(Gate);

TEST_P(Gate, EqualsDoublePrecisionInBothOrdersInPlaceAndAsBf16) {
  Random random(44);
  SCOPED_TRACE(random.seed_text());
  for (const Activation activation : kActivations) {
    for (const int columns : {1, 7, 16, 19, 52, 96}) {
      for (const bool first : {true, false}) {
        for (const bool is_bf16 : {false, true}) {
          const int stride = padded_to(2 * columns, 16) + 16;
          std::vector<float> x = random.normals(static_cast<size_t>(3) * stride);
          const std::vector<float> before = x;
          std::vector<uint16_t> narrow(x.size(), 0x4588);
          GateArgs args;
          args.x = x.data();
          args.x_stride = args.y_stride = stride;
          args.y = is_bf16 ? static_cast<void*>(narrow.data()) : x.data();
          args.y_is_bf16 = is_bf16;
          args.activation = activation;
          args.activates_first = first;
          args.rows = 3;
          args.columns = columns;
          args.padded = padded_to(columns, table().vector_floats);
          table().gate(args);
          Comparison comparison;
          for (int row = 0; row < 3; ++row) {
            const float* in = before.data() + static_cast<ptrdiff_t>(row) * stride;
            for (int c = 0; c < args.padded; ++c) {
              const size_t at = static_cast<size_t>(row) * stride + c;
              const float found = is_bf16 ? bf16_to_float(narrow[at]) : x[at];
              if (c >= columns) {
                EXPECT_EQ(found, 0.0F) << "padding";
                continue;
              }
              const double active = in[first ? c : columns + c];
              const double plain = in[first ? columns + c : c];
              const double wanted = exact_activation(activation, active) * plain;
              double allowed =
                  activation_allowance(Format::kF32, activation, active) * std::abs(plain) + 1e-6 * std::abs(wanted);
              if (is_bf16) allowed += Tolerance::kBf16 * std::abs(wanted);
              comparison.add(row, c, found, wanted, allowed + 1e-30);
            }
          }
          EXPECT_TRUE(comparison.within()) << static_cast<int>(activation) << ", " << columns << " columns, bf16 " << is_bf16;
        }
      }
    }
  }
}

}  // namespace
}  // namespace inlay
