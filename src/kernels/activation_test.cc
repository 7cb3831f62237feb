// Activations against double precision: named values, a sweep over all floats of their range, and the far ends.
#include <bit>
#include <cfloat>
#include <limits>

#include "kernels/gemm_testing.h"

namespace inlay {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Activations : public TableTest {
 protected:
  float activated(Activation activation, float x) const {
    table().activate(activation, &x, 1);
    return x;
  }
};
EACH_TABLE(Activations);

struct NamedValue {
  Activation activation;
  float x;
  double wanted;
};

TEST_P(Activations, CaseH12GeluIsTheErfFormAndItsTanhFormIsAnother) {
  constexpr NamedValue kValues[] = {
      {Activation::kGelu, -2.7F, -0.00936083},
      {Activation::kGelu, -1, -0.15865525},
      {Activation::kGelu, 0, 0},
      {Activation::kGelu, 1, 0.84134475},
      {Activation::kGelu, 3, 2.99595031},
      {Activation::kGeluTanh, -2.7F, -0.00888759},
      {Activation::kGeluTanh, -1, -0.15880801},
      {Activation::kGeluTanh, 0, 0},
      {Activation::kGeluTanh, 1, 0.84119199},
      {Activation::kGeluTanh, 3, 2.99636261},
      {Activation::kRelu, -2.7F, 0},
      {Activation::kRelu, 3, 3},
      {Activation::kSilu, -1, -0.26894142},
      {Activation::kSilu, 3, 2.85772238},
      {Activation::kQuickGelu, -1, -0.15420423},
      {Activation::kQuickGelu, 3, 2.98192883},
      {Activation::kTanh, 1, 0.76159416},
      {Activation::kSigmoid, -1, 0.26894142},
  };
  for (const NamedValue& named : kValues) {
    EXPECT_NEAR(activated(named.activation, named.x), named.wanted, 1e-6)
        << static_cast<int>(named.activation) << " of " << named.x;
  }
}

// Every 29989th float between -40 and 40.
TEST_P(Activations, AreWithinTheirStatedErrorEverywhere) {
  std::vector<float> x;
  for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(40.0F); bits += 29989) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  for (const Activation activation : kActivations) {
    std::vector<float> y = x;
    table().activate(activation, y.data(), static_cast<int64_t>(y.size()));
    Comparison comparison;
    for (size_t i = 0; i < x.size(); ++i) {
      const double allowed = activation_allowance(Format::kF32, activation, x[i]);
      comparison.add(static_cast<int>(i), 0, y[i], exact_activation(activation, x[i]), allowed + 1e-300);
    }
    EXPECT_TRUE(comparison.within()) << static_cast<int>(activation);
  }
}

TEST_P(Activations, FarEndsReachTheirLimits) {
  for (const Activation activation : kActivations) {
    const bool is_bounded = activation == Activation::kTanh || activation == Activation::kSigmoid;
    const bool is_identity = activation == Activation::kIdentity;
    for (const float x : {40.0F, 1e5F, 1e13F, 1e20F, 1e30F, FLT_MAX}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(activation) << " of " << x);
      const float high = activated(activation, x);
      const float low = activated(activation, -x);
      EXPECT_NEAR(high, is_bounded ? 1.0F : x, is_bounded ? 1e-6F : x * 3e-7F);
      EXPECT_NEAR(low, is_identity ? -x : activation == Activation::kTanh ? -1.0F : 0.0F, 1e-6F);
    }
  }
}

// Of an infinite input: the limit, or NaN where the limit is 0 * infinity. Never some other number.
TEST_P(Activations, InfinityGivesTheLimitOrAnError) {
  for (const Activation activation : kActivations) {
    const bool is_bounded = activation == Activation::kTanh || activation == Activation::kSigmoid;
    EXPECT_EQ(activated(activation, kInfinity), is_bounded ? 1.0F : kInfinity) << static_cast<int>(activation);
    const float low = activated(activation, -kInfinity);
    const float limit = activation == Activation::kIdentity ? -kInfinity : activation == Activation::kTanh ? -1.0F : 0.0F;
    EXPECT_TRUE(std::isnan(low) || low == limit || std::abs(low - limit) < 1e-6F)
        << static_cast<int>(activation) << ": " << low;
  }
}

TEST_P(Activations, NanPropagatesInEveryLane) {
  for (const Activation activation : kActivations) {
    for (int at = 0; at < 37; ++at) {
      std::vector<float> x(37, 0.5F);
      x[at] = NAN;
      table().activate(activation, x.data(), 37);
      for (int i = 0; i < 37; ++i) EXPECT_EQ(std::isnan(x[i]), i == at) << static_cast<int>(activation) << " lane " << i;
    }
  }
}

TEST_P(Activations, AValueHasTheSameBitsInAnyPlaceAndNothingElseIsWritten) {
  Random random(51);
  const std::vector<float> values = random.normals(50);
  for (const Activation activation : kActivations) {
    for (int count = 0; count <= 40; ++count) {
      std::vector<float> x = values;
      table().activate(activation, x.data(), count);
      for (int i = 0; i < 50; ++i) {
        const float wanted = i < count ? activated(activation, values[i]) : values[i];
        ASSERT_EQ(std::memcmp(&x[i], &wanted, sizeof(wanted)), 0) << static_cast<int>(activation) << " " << count << " " << i;
      }
    }
  }
}

// Products may take a cheaper GELU. Zero activations leave the bias, so that any x can be sent through.
TEST_P(Activations, GeluOfProductsIsWithinItsStatedError) {
  for (const Format format : kAllFormats) {
    if (!table().has(format)) continue;
    constexpr int kColumns = 20000;
    GemmProblem p;
    p.shape = {format, 1, kColumns, 4};
    p.a.assign(4, 0.0F);
    p.b.assign(static_cast<size_t>(4) * kColumns, 0.0F);
    p.b_scale.assign(kColumns, 1.0F);
    p.a_scale.assign(1, 1.0F);
    p.a_min.assign(1, 0.0F);
    for (int c = 0; c < kColumns; ++c) p.bias.push_back(static_cast<float>(c - kColumns / 2) * 1.5e-3F);
    PackedGemm packed(table(), p);
    packed.args.activation = Activation::kGelu;
    packed.run();
    Comparison comparison;
    for (int c = 0; c < kColumns; ++c) {
      const double allowed = activation_allowance(format, Activation::kGelu, p.bias[c]);
      comparison.add(0, c, packed.result(0, c), exact_activation(Activation::kGelu, p.bias[c]), allowed);
    }
    EXPECT_TRUE(comparison.within()) << format_name(format);
  }
}

}  // namespace
}  // namespace inlay
