#include "server/api/vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

using testing::ElementsAre;

TEST(Vectors, CaseH16CutsFirstThenNormalises) {
  std::vector<float> cut = {3, 4, 12};
  finish_vector(cut, 2, true);
  EXPECT_THAT(cut, ElementsAre(0.6F, 0.8F));
  std::vector<float> raw = {3, 4, 12};
  finish_vector(raw, 2, false);
  EXPECT_THAT(raw, ElementsAre(3, 4));
  std::vector<float> whole = {3, 4, 12};
  finish_vector(whole, std::nullopt, true);
  EXPECT_THAT(whole, ElementsAre(3.0F / 13, 4.0F / 13, 12.0F / 13));
  std::vector<float> zeros = {0, 0};
  finish_vector(zeros, 5, true);
  EXPECT_THAT(zeros, ElementsAre(0, 0));
}

// The vectors of RFC 4648, section 10.
TEST(Vectors, Base64OfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFB\xFF"), "+/8=");
}

TEST(Vectors, CaseH23FloatsAreLittleEndian32Bits) {
  EXPECT_EQ(base64(float_bytes(std::vector<float>{1, -2.5F, 0, 0.15625F})), "AACAPwAAIMAAAAAAAAAgPg==");
}

TEST(Vectors, IntegersKeepTheDirection) {
  const std::vector<float> vector = {0.5F, -1, 0, 0.25F};
  EXPECT_THAT(to_int8(vector), ElementsAre(64, -127, 0, 32));
  EXPECT_THAT(to_uint8(vector), ElementsAre(192, 1, 128, 160));
  EXPECT_THAT(to_int8(std::vector<float>{0, 0}), ElementsAre(0, 0));
}

// numpy.packbits([1,0,0,1,0,0,0,1, 0,0,0,0,0,0,0,1]) is [145, 1]; an exact zero is no 1.
TEST(Vectors, BitsArePackedAsNumpyDoes) {
  const std::vector<float> vector = {1, -1, 0, 2, -0.0F, -3, -1, 4, -1, -1, -1, -1, -1, -1, -1, 1e-30F};
  EXPECT_THAT(to_ubinary(vector), ElementsAre(145, 1));
  EXPECT_THAT(to_binary(vector), ElementsAre(17, -127));
}

TEST(Vectors, Cosines) {
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{1, 0}, std::vector<float>{2, 0}), 1);
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{1, 0}, std::vector<float>{0, 5}), 0);
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{3, 4}, std::vector<float>{-3, -4}), -1);
  EXPECT_DOUBLE_EQ(cosine(std::vector<float>{0, 0}, std::vector<float>{1, 1}), 0);
}

}  // namespace
}  // namespace inlay
