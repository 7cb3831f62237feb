#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "server/api/api_testing.h"

namespace inlay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

Result<DialectCall> infer(std::string_view json, std::string_view binary = {}) {
  HttpRequest request;
  request.body = std::string(json) + std::string(binary);
  if (!binary.empty()) request.headers.emplace_back("inference-header-content-length", std::to_string(json.size()));
  return parse_kserve(request, "m");
}

std::string bytes_of(std::string_view text) {
  const uint32_t length = static_cast<uint32_t>(text.size());
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &length, 4);
  return bytes + std::string(text);
}

TEST(KServe, ReadsTextsFlatOrNested) {
  for (const char* body : {R"({"id":"7","inputs":[{"name":"text","shape":[2],"datatype":"BYTES","data":["a","b"]}]})",
                           R"({"inputs":[{"name":"text","shape":[2,1],"datatype":"BYTES","data":[["a"],["b"]]}]})"}) {
    const Result<DialectCall> call = infer(body);
    ASSERT_TRUE(call) << call.error().message;
    EXPECT_EQ(call->request.model, "m");
    ASSERT_EQ(call->request.inputs.size(), 2);
    EXPECT_EQ(call->request.inputs[1].text, "b");
    EXPECT_FALSE(call->request.unit_length);
  }
}

TEST(KServe, ReadsIdsUnderAMask) {
  const Result<DialectCall> call = infer(
      R"({"inputs":[{"name":"input_ids","shape":[2,3],"datatype":"INT64","data":[1,2,0,3,0,0]},
                    {"name":"attention_mask","shape":[2,3],"datatype":"INT64","data":[[1,1,0],[1,0,0]]}]})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_THAT(call->request.inputs[0].ids, ElementsAre(1, 2));
  EXPECT_THAT(call->request.inputs[1].ids, ElementsAre(3));
}

TEST(KServe, ReadsBinaryTensors) {
  const std::string texts = bytes_of("hé") + bytes_of("b");
  const std::string json = R"({"inputs":[{"name":"text","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":)" +
                           std::to_string(texts.size()) + "}}]}";
  const Result<DialectCall> call = infer(json, texts);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.inputs[0].text, "hé");
  EXPECT_EQ(call->request.inputs[1].text, "b");

  const std::vector<int64_t> ids = {5, 6};
  const std::string raw(reinterpret_cast<const char*>(ids.data()), 16);
  const Result<DialectCall> with_ids =
      infer(R"({"inputs":[{"name":"input_ids","shape":[1,2],"datatype":"INT64","parameters":{"binary_data_size":16}}]})", raw);
  ASSERT_TRUE(with_ids) << with_ids.error().message;
  EXPECT_THAT(with_ids->request.inputs[0].ids, ElementsAre(5, 6));
}

TEST(KServe, TakesARawBodyAsItsOneText) {
  HttpRequest request;
  request.body = "hello";
  request.headers.emplace_back("inference-header-content-length", "0");
  EXPECT_EQ(parse_kserve(request, "m")->request.inputs[0].text, "hello");
}

TEST(KServe, RefusesTensorsThatLie) {
  const std::string size_9 =
      R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":9}}]})";
  EXPECT_FALSE(infer(size_9, "12345"));
  EXPECT_FALSE(infer(size_9, std::string("\xFF\xFF\xFF\xFF") + "12345"));
  EXPECT_FALSE(infer(size_9, bytes_of("12345") + "more"));
  for (
      const char* bad :
      {"{", "{}", R"({"inputs":[]})", R"({"inputs":[{"name":"text","shape":[2],"datatype":"BYTES","data":["a"]}]})",
       R"({"inputs":[{"name":"text","shape":[-1],"datatype":"BYTES","data":["a"]}]})",
       R"({"inputs":[{"name":"text","shape":[4294967296,4294967296],"datatype":"BYTES","data":[]}]})",
       R"({"inputs":[{"name":"text","shape":[1],"datatype":"FP32","data":[1]}]})",
       R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":[""]}]})",
       R"({"inputs":[{"name":"other","shape":[1],"datatype":"BYTES","data":["a"]}]})",
       R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":-4}}]})",
       R"({"inputs":[{"name":"input_ids","shape":[1,2],"datatype":"INT64","data":[1,2]},{"name":"attention_mask","shape":[2],"datatype":"INT64","data":[1,1]}]})",
       R"({"inputs":[{"name":"input_ids","shape":[1,1],"datatype":"INT64","data":[1]},{"name":"attention_mask","shape":[1,1],"datatype":"INT64","data":[0]}]})",
       R"({"inputs":[{"name":"input_ids","shape":[3,0],"datatype":"INT64","data":[]}]})",
       R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["a"]}],"outputs":[{"name":"logits"}]})",
       R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["a"]}],"parameters":{"timeout":-1}})"}) {
    EXPECT_EQ(status_of(Dialect::kKServe, infer(bad)), 400) << bad;
  }
  HttpRequest longer;
  longer.body = "{}";
  longer.headers.emplace_back("inference-header-content-length", "3");
  EXPECT_FALSE(parse_kserve(longer, "m"));
}

TEST(KServe, ReadsParameters) {
  const Result<DialectCall> call = infer(
      R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["a"]}],
          "parameters":{"priority":1,"timeout":1500,"prompt_name":"q","dimensions":2,"normalize":true,"truncate":false}})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.priority, Priority::kInteractive);
  EXPECT_EQ(call->request.timeout, std::chrono::microseconds(1'500));
  EXPECT_EQ(call->request.prompt_name, "q");
  EXPECT_EQ(call->request.dimensions, 2);
  EXPECT_EQ(call->request.normalize, true);
  EXPECT_EQ(call->request.truncate, false);
}

TEST(KServe, AnswersInJsonOrInBytes) {
  const Result<DialectCall> json =
      infer(R"({"id":"7","inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["a"]}]})");
  EXPECT_EQ(
      json->render(stub_answer()).body,
      R"({"id":"7","model_name":"stub","model_version":"1","outputs":[{"name":"embedding","datatype":"FP32","shape":[1,4],"data":[1,-2.5,0,0.15625]}]})");
  for (const char* how : {R"("parameters":{"binary_data_output":true})",
                          R"("outputs":[{"name":"embedding","parameters":{"binary_data":true}}])"}) {
    const Result<DialectCall> binary =
        infer(std::string(R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["a"]}],)") + how + "}");
    ASSERT_TRUE(binary) << binary.error().message;
    const HttpResponse response = binary->render(stub_answer());
    const std::string head =
        R"({"model_name":"stub","model_version":"1","outputs":[{"name":"embedding","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]})";
    EXPECT_THAT(response.headers, Contains(Pair("Inference-Header-Content-Length", std::to_string(head.size()))));
    EXPECT_EQ(response.body, head + std::string("\0\0\x80\x3F\0\0\x20\xC0\0\0\0\0\0\0\x20\x3E", 16));
  }
}

TEST(KServe, GivesHalfPrecisionInBytesOnly) {
  const std::string inputs = R"({"inputs":[{"name":"text","shape":[1],"datatype":"BYTES","data":["a"]}],)";
  const Result<DialectCall> both =
      infer(inputs + R"("outputs":[{"name":"embedding_fp16","parameters":{"binary_data":true}},{"name":"embedding"}]})");
  ASSERT_TRUE(both) << both.error().message;
  const HttpResponse response = both->render(stub_answer());
  const std::string head = R"({"model_name":"stub","model_version":"1","outputs":[)"
                           R"({"name":"embedding_fp16","datatype":"FP16","shape":[1,4],"parameters":{"binary_data_size":8}},)"
                           R"({"name":"embedding","datatype":"FP32","shape":[1,4],"data":[1,-2.5,0,0.15625]}]})";
  EXPECT_THAT(response.headers, Contains(Pair("Inference-Header-Content-Length", std::to_string(head.size()))));
  EXPECT_EQ(response.body, head + std::string("\0\x3C\0\xC1\0\0\0\x31", 8));
  EXPECT_EQ(status_of(Dialect::kKServe, infer(inputs + R"("outputs":[{"name":"embedding_fp16"}]})")), 400);
  EXPECT_EQ(status_of(Dialect::kKServe, infer(inputs + R"("outputs":[{"name":"embedding"},{"name":"embedding"}]})")), 400);
  EXPECT_TRUE(infer(inputs + R"("outputs":[{"name":"embedding_fp16"}],"parameters":{"binary_data_output":true}})"));
}

}  // namespace
}  // namespace inlay
