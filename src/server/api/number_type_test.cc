#include "server/api/number_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/api/api_testing.h"

namespace inlay {
namespace {

using testing::HasSubstr;

std::string json_of(NumberType type, const std::vector<float>& vector) {
  JsonWriter json;
  write_numbers(json, type, vector);
  return json.take();
}

// numpy.float16([1, -2.5, 0.1, 65504]).view('u1'), and ml_dtypes.bfloat16 of the same.
TEST(NumberType, HalvesAreLittleEndianAndRounded) {
  const std::vector<float> vector = {1, -2.5F, 0.1F, 65504};
  EXPECT_EQ(number_bytes(NumberType::kFloat16, vector), std::string("\x00\x3C\x00\xC1\x66\x2E\xFF\x7B", 8));
  EXPECT_EQ(number_bytes(NumberType::kBfloat16, vector), std::string("\x80\x3F\x20\xC0\xCD\x3D\x80\x47", 8));
  EXPECT_EQ(json_of(NumberType::kFloat16, vector), "[1,-2.5,0.099975586,65504]");
  EXPECT_EQ(json_of(NumberType::kBfloat16, vector), "[1,-2.5,0.100097656,65536]");
}

TEST(NumberType, IntegersAndBits) {
  const std::vector<float> vector = {0.5F, -1, 0, 0.25F, 1, 1, 1, 1};
  EXPECT_EQ(json_of(NumberType::kInt8, vector), "[64,-127,0,32,127,127,127,127]");
  EXPECT_EQ(number_bytes(NumberType::kInt8, {vector.data(), 2}), "\x40\x81");
  EXPECT_EQ(number_bytes(NumberType::kUint8, {vector.data(), 2}), "\xC0\x01");
  EXPECT_EQ(json_of(NumberType::kUbinary, vector), "[159]");
  EXPECT_EQ(number_bytes(NumberType::kBinary, vector), "\x1F");
}

TEST(NumberType, OpenAiGivesWhatItsClientAsksFor) {
  const auto ask = [](const char* fields) {
    return parse_with(parse_openai, std::string(R"({"input":"a",)") + fields + "}")->render(stub_answer()).body;
  };
  EXPECT_THAT(ask(R"("embed_dtype":"float16","encoding_format":"base64")"), HasSubstr(R"("embedding":"ADwAwQAAADE=")"));
  EXPECT_THAT(ask(R"("embed_dtype":"int8")"), HasSubstr(R"("embedding":[51,-127,0,8])"));
  EXPECT_EQ(parse_with(parse_openai, R"({"input":"a","embed_dtype":"ubinary"})")->request.dimensions_multiple_of, 8);
  EXPECT_FALSE(parse_with(parse_openai, R"({"input":"a","embed_dtype":"float8"})"));
}

}  // namespace
}  // namespace inlay
