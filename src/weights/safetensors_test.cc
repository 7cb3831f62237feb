#include "weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/test_safetensors.h"

namespace inlay {
namespace {

using testing::HasSubstr;

Result<SafetensorsHeader> read_header(std::string_view file) {
  return read_safetensors_header(bytes_of(file), "t.safetensors");
}

std::string header_error(std::string_view file) {
  const Result<SafetensorsHeader> header = read_header(file);
  if (header) return "no error";
  return header.error().code == ErrorCode::kCorrupt ? header.error().message : "another code: " + header.error().message;
}

std::string error_of_header(std::string_view header, size_t data_bytes = 4) {
  return header_error(safetensors_file(header, std::string(data_bytes, 'x')));
}

std::string one_tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
}

std::string length_only(uint64_t length, std::string_view rest) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file.append(rest);
}

// Laid out by hand, byte by byte, from the format's description.
TEST(Safetensors, ReadsAFileWrittenByHand) {
  std::string file("\x98\0\0\0\0\0\0\0", 8);
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},)"
                             R"("a":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}})";
  file += header + std::string(0x98 - header.size(), ' ') + std::string(14, '\0');
  const Result<SafetensorsHeader> result = read_header(file);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_EQ(result->tensors.size(), 2U);
  EXPECT_EQ(result->tensors[0].name, "a");
  EXPECT_EQ(result->tensors[0].dtype, DType::kF32);
  EXPECT_EQ(result->tensors[0].shape, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(result->tensors[0].begin, 160U);
  EXPECT_EQ(result->tensors[0].end, 172U);
  EXPECT_EQ(result->tensors[1].name, "b");
  EXPECT_EQ(result->tensors[1].dtype, DType::kBF16);
  EXPECT_EQ(result->tensors[1].end, file.size());
  EXPECT_EQ(result->metadata.at("format"), "pt");
}

TEST(Safetensors, TakesWhatIsOddButLegal) {
  EXPECT_EQ(header_error(safetensors_file("{}", "")), "no error");
  EXPECT_EQ(error_of_header(one_tensor("F32", "[]", "[0,4]")), "no error");
  EXPECT_EQ(error_of_header(one_tensor("F32", "[0,384]", "[0,0]"), 0), "no error");
  EXPECT_EQ(error_of_header(one_tensor("F4", "[3,2]", "[0,3]"), 3), "no error");
  EXPECT_EQ(error_of_header(one_tensor("F6_E2M3", "[4]", "[0,3]"), 3), "no error");
  EXPECT_EQ(error_of_header(one_tensor("C64", "[1]", "[0,8]"), 8), "no error");
  EXPECT_EQ(error_of_header(one_tensor("F32", "[1,1,1,1,1,1,1,1]", "[0,4]")), "no error");
  EXPECT_EQ(error_of_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"note":[[1]]}}    )"), "no error");
  // Zero-size tensors share their position with a neighbour.
  EXPECT_EQ(error_of_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                            R"("z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                            R"("y":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})"),
            "no error");
}

TEST(Safetensors, KeepsATensorOfUnknownTypeForWhoeverAsks) {
  const Result<SafetensorsHeader> header = read_header(safetensors_file(one_tensor("F3_E9", "[5]", "[0,4]"), "xxxx"));
  ASSERT_TRUE(header.has_value()) << header.error().message;
  EXPECT_EQ(header->tensors[0].dtype, std::nullopt);
  EXPECT_EQ(header->tensors[0].dtype_text, "F3_E9");
}

TEST(Safetensors, CaseH44HeaderLength) {
  const std::string body = "{}" + std::string(100, ' ');
  EXPECT_THAT(header_error(length_only(~uint64_t{0}, body)),
              HasSubstr("header length 18446744073709551615, at most 100000000"));
  EXPECT_THAT(header_error(length_only(uint64_t{1} << 63, body)), HasSubstr("at most 100000000 is allowed"));
  EXPECT_THAT(header_error(length_only(200'000'000, body)), HasSubstr("at most 100000000 is allowed"));
  EXPECT_THAT(header_error(length_only(8 + body.size(), body)), HasSubstr("header of 110 bytes in a file of 110; truncated?"));
  EXPECT_THAT(header_error(length_only(body.size() + 1, body)), HasSubstr("truncated?"));
  EXPECT_THAT(header_error(length_only(0, body)), HasSubstr("does not start with '{'"));
  EXPECT_THAT(header_error(""), HasSubstr("0 bytes"));
  EXPECT_THAT(header_error("1234567"), HasSubstr("7 bytes"));
}

TEST(Safetensors, CaseH44OffsetsAndShapes) {
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1000,1000]", "[0,4]")),
              HasSubstr("'a': 1000000 elements of F32 take 32000000 bits, data_offsets give 4 bytes"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[2]", "[0,8]")), HasSubstr("ends at byte 70 of a file of 66; truncated?"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1]", "[4,0]")), HasSubstr("begins at 4 and ends at 0"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1]", "[18446744073709551612,18446744073709551615]")),
              HasSubstr("beyond any file"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1]", "[18446744073709551615,4]")),
              HasSubstr("begins at 18446744073709551615"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[4294967296,4294967296]", "[0,4]")), HasSubstr("shape"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[281474976710656,281474976710656]", "[0,4]")), HasSubstr("too many elements"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[281474976710656,8192]", "[0,4]")), HasSubstr("too many elements"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[281474976710657]", "[0,4]")), HasSubstr("shape[0] is no size"));
  EXPECT_THAT(error_of_header(one_tensor("X", "[281474976710656,281474976710656]", "[0,4]")), HasSubstr("too many elements"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[-1]", "[0,4]")), HasSubstr("shape[0] is no size"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1.0]", "[0,4]")), HasSubstr("shape[0] is no size"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]")), HasSubstr("more than 8 dimensions"));
  EXPECT_THAT(error_of_header(one_tensor("F4", "[3]", "[0,2]")), HasSubstr("3 elements of F4 take 12 bits"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1]", "[0,4,8]")), HasSubstr("more than two"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1]", "[0]")), HasSubstr("fewer than two"));
  EXPECT_THAT(error_of_header(one_tensor("F32", "[1]", "[-4,0]")), HasSubstr("no unsigned integer"));
}

TEST(Safetensors, CaseH44Tiling) {
  const std::string one = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string at = R"({{{},"b":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}}})";
  EXPECT_EQ(error_of_header(fmt::format(fmt::runtime(at), one, 4, 8), 8), "no error");
  EXPECT_THAT(error_of_header(fmt::format(fmt::runtime(at), one, 0, 4), 4), HasSubstr("tensor 'b' begins at byte"));
  EXPECT_THAT(error_of_header(fmt::format(fmt::runtime(at), one, 2, 6), 6), HasSubstr("but the one before it ends at"));
  EXPECT_THAT(error_of_header(fmt::format(fmt::runtime(at), one, 5, 9), 9), HasSubstr("but the one before it ends at"));
  EXPECT_THAT(error_of_header("{" + one + "}", 5), HasSubstr("tensors end at byte 66, the file has 67"));
  EXPECT_THAT(error_of_header("{" + one + "}", 3), HasSubstr("truncated?"));
  EXPECT_THAT(error_of_header("{}", 1), HasSubstr("tensors end at byte 10, the file has 11"));
}

TEST(Safetensors, CaseH44Json) {
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(error_of_header(fmt::format(R"({{"a":{0},"a":{0}}})", tensor)), HasSubstr("'a' is listed twice"));
  EXPECT_THAT(error_of_header(fmt::format(R"({{"a":{0},"\u0061":{0}}})", tensor)), HasSubstr("'a' is listed twice"));
  EXPECT_THAT(error_of_header(R"({"__metadata__":{},"__metadata__":{}})", 0), HasSubstr("listed twice"));
  EXPECT_THAT(error_of_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
              HasSubstr("dtype is given twice"));
  EXPECT_THAT(error_of_header(R"({"a":{"dtype":"F32","shape":[1]}})"), HasSubstr("wanted dtype, shape and data_offsets"));
  EXPECT_THAT(error_of_header(R"({"a":{"dtype":3,"shape":[1],"data_offsets":[0,4]}})"), HasSubstr("dtype is no name"));
  EXPECT_THAT(error_of_header(R"({"a":4})"), HasSubstr("wanted an object"));
  EXPECT_THAT(error_of_header(R"({"__metadata__":{"format":1}})", 0), HasSubstr("__metadata__.format: found an integer"));
  EXPECT_THAT(error_of_header(R"([1])", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(error_of_header(R"({"a":)", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_header("{\"\xff\":1}", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_header("{\"a\":" + std::string(100'000, '[') + "}", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_header("{\"" + std::string(5000, 'n') + "\":" + tensor + "}"), HasSubstr("tensor name of 5000 bytes"));
  EXPECT_THAT(header_error("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"), HasSubstr("git lfs pull"));
}

TEST(Safetensors, CaseH44EveryTruncationIsAnError) {
  const std::string file =
      SafetensorsBuilder().add_floats("first", {3, 5}, 0).add("second", "BF16", {7}, std::string(14, 'b')).file();
  ASSERT_EQ(header_error(file), "no error");
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(header_error(std::string_view(file).substr(0, size)), "no error") << size << " bytes";
  }
  EXPECT_NE(header_error(file + "x"), "no error");
}

}  // namespace
}  // namespace inlay
