#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace inlay {
namespace {

TEST(Half, CaseH32ConvertsBf16) {
  EXPECT_EQ(bf16_to_float(0x3F80), 1.0F);
  EXPECT_EQ(bf16_to_float(0xC020), -2.5F);
  EXPECT_EQ(bf16_to_float(0x8000), 0.0F);
  EXPECT_TRUE(std::signbit(bf16_to_float(0x8000)));
  EXPECT_FLOAT_EQ(bf16_to_float(0x0001), std::ldexp(1.0F, -133));
  EXPECT_EQ(bf16_to_float(0x4780), 65536.0F);
  EXPECT_EQ(bf16_to_float(0x7F80), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(bf16_to_float(0x7FC0)));
}

TEST(Half, Bf16RoundsToNearestEven) {
  EXPECT_EQ(float_to_bf16(1.0F + std::ldexp(1.0F, -8)), 0x3F80);  // a tie goes to the even neighbour below
  EXPECT_EQ(float_to_bf16(1.0F + std::ldexp(3.0F, -8)), 0x3F82);  // a tie goes to the even neighbour above
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Half, EveryFp16ValueSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const float value = fp16_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(fp16_to_float(float_to_fp16(value))));
    } else {
      ASSERT_EQ(float_to_fp16(value), bits);
    }
  }
}

// _Float16 of the compiler is the second truth.
TEST(Half, Fp16RoundsAsTheCompilerDoes) {
  for (uint32_t i = 0; i < (1U << 20); ++i) {
    const float value = std::bit_cast<float>(i * 4093U);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_fp16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}

}  // namespace
}  // namespace inlay
