#include "engine/output_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/test_folder.h"

namespace inlay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> codes(const std::vector<float>& vector, OutputType type, const OutputRanges* ranges) {
  std::vector<std::byte> bytes(output_bytes(type, vector.size()));
  encode_vector(vector, type, ranges, bytes);
  std::vector<int> result;
  const bool is_signed = type == OutputType::kInt8 || type == OutputType::kBinary;
  for (const std::byte byte : bytes) result.push_back(is_signed ? static_cast<int8_t>(byte) : static_cast<int>(byte));
  return result;
}

// sentence_transformers.util.quantization.quantize_embeddings(x, precision, ranges) of sentence-transformers 6.2 with
// ranges [[-1, 0, 2], [1, 0.5, 2]] and x [[-1, 0.25, 2], [1, 0.5, 7], [-3, 0.1, 2.5], [0.123, 0.499, 1]].
TEST(OutputType, IntegersInRangesAreThoseOfSentenceTransformers) {
  OutputRanges ranges;
  ranges.add(std::vector<float>{-1, 0.5F, 2});
  ranges.add(std::vector<float>{1, 0, 2});
  EXPECT_THAT(codes({-1, 0.25F, 2}, OutputType::kUint8, &ranges), ElementsAre(0, 127, 0));
  EXPECT_THAT(codes({1, 0.5F, 7}, OutputType::kUint8, &ranges), ElementsAre(254, 254, 5));
  EXPECT_THAT(codes({-3, 0.1F, 2.5F}, OutputType::kUint8, &ranges), ElementsAre(0, 50, 0));
  EXPECT_THAT(codes({0.123F, 0.499F, 1}, OutputType::kUint8, &ranges), ElementsAre(143, 254, 0));
  EXPECT_THAT(codes({0.123F, 0.499F, 1}, OutputType::kInt8, &ranges), ElementsAre(15, 126, -128));
}

TEST(OutputType, IntegersWithoutRangesKeepTheDirection) {
  EXPECT_THAT(codes({0.5F, -1, 0, 0.25F}, OutputType::kInt8, nullptr), ElementsAre(64, -127, 0, 32));
  EXPECT_THAT(codes({0.5F, -1, 0, 0.25F}, OutputType::kUint8, nullptr), ElementsAre(192, 1, 128, 160));
  EXPECT_THAT(codes({0, 0}, OutputType::kInt8, nullptr), ElementsAre(0, 0));
}

// numpy.packbits([1,0,0,1,0,0,0,1, 0,0,1]) is [145, 32]; an exact zero is no 1.
TEST(OutputType, BitsArePackedAsNumpyDoes) {
  const std::vector<float> vector = {1, -1, 0, 2, -0.0F, -3, -1, 4, -1, -1, 1e-30F};
  EXPECT_THAT(codes(vector, OutputType::kUbinary, nullptr), ElementsAre(145, 32));
  EXPECT_THAT(codes(vector, OutputType::kBinary, nullptr), ElementsAre(17, -96));
}

TEST(OutputType, DecodesWithinHalfAStep) {
  OutputRanges ranges;
  ranges.add(std::vector<float>{-1, -2, 0});
  ranges.add(std::vector<float>{1, 3, 0.1F});
  const std::vector<float> vector = {0.3F, -1.9F, 0.05F};
  for (const OutputType type : {OutputType::kInt8, OutputType::kUint8, OutputType::kFp16, OutputType::kFloat}) {
    std::vector<std::byte> bytes(output_bytes(type, vector.size()));
    encode_vector(vector, type, &ranges, bytes);
    std::vector<float> back(vector.size());
    decode_vector(bytes, type, &ranges, back);
    for (size_t i = 0; i < vector.size(); ++i) {
      EXPECT_LE(std::fabs(back[i] - vector[i]), ranges.step(i) * 0.5001F) << output_type_name(type) << " " << i;
    }
  }
}

TEST(OutputType, DecodesBits) {
  const std::vector<float> vector = {1, -1, 0.5F, -2, -1, 1, 1, -1, 3};
  for (const OutputType type : {OutputType::kBinary, OutputType::kUbinary}) {
    std::vector<std::byte> bytes(output_bytes(type, vector.size()));
    encode_vector(vector, type, nullptr, bytes);
    std::vector<float> back(vector.size());
    decode_vector(bytes, type, nullptr, back);
    EXPECT_THAT(back, ElementsAre(1, -1, 1, -1, -1, 1, 1, -1, 1));
  }
}

TEST(OutputType, NamesComeBack) {
  for (const char* name : {"float", "fp16", "int8", "uint8", "binary", "ubinary"}) {
    EXPECT_EQ(output_type_name(parse_output_type(name).value()), name);
  }
  EXPECT_EQ(parse_output_type("float32"), OutputType::kFloat);
  EXPECT_THAT(parse_output_type("int7").error().message, HasSubstr("int7"));
}

TEST(OutputType, RangesComeBackAndMustFit) {
  const TestFolder folder;
  OutputRanges ranges;
  ranges.add(std::vector<float>{-0.1F, 0.30000001F});
  ranges.add(std::vector<float>{0.2F, 0.4F});
  const std::filesystem::path path = folder.path() / "ranges.json";
  ASSERT_TRUE(ranges.write(path));
  const OutputRanges back = OutputRanges::read(path, 2).value();
  EXPECT_EQ(back.low, ranges.low);
  EXPECT_EQ(back.high, ranges.high);
  EXPECT_THAT(OutputRanges::read(path, 3).error().message, HasSubstr("2 numbers, the model's vectors have 3"));
  folder.write("bad.json", R"({"low":[1],"high":[0]})");
  EXPECT_THAT(OutputRanges::read(folder.path() / "bad.json", 1).error().message, HasSubstr("number 0"));
}

}  // namespace
}  // namespace inlay
