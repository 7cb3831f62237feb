#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/api_testing.h"
#include "server/api/text_routes.h"

namespace inlay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

Result<DialectCall> embed(std::string_view body) { return parse_with(parse_tei_embed, body); }
Result<DialectCall> similarity(std::string_view body) { return parse_with(parse_tei_similarity, body); }

TEST(Tei, ReadsEveryFieldOfEmbed) {
  const Result<DialectCall> call = embed(
      R"({"inputs":["a",[5,6]],"truncate":true,"truncation_direction":"Left","prompt_name":"query","normalize":false,"dimensions":3})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.inputs[0].text, "a");
  EXPECT_THAT(call->request.inputs[1].ids, ElementsAre(5, 6));
  EXPECT_EQ(call->request.truncate, true);
  EXPECT_EQ(call->request.truncate_side, TruncationSide::kLeft);
  EXPECT_EQ(call->request.prompt_name, "query");
  EXPECT_EQ(call->request.normalize, false);
  EXPECT_EQ(call->request.dimensions, 3);
}

TEST(Tei, LeavesToTheServerWhatIsNotSaid) {
  const Result<DialectCall> call = embed(R"({"inputs":"a"})");
  EXPECT_EQ(call->request.truncate, std::nullopt);
  EXPECT_EQ(call->request.normalize, std::nullopt);
  EXPECT_TRUE(call->request.unit_length);
}

TEST(Tei, AnswersAMatrixEvenForOneText) {
  const HttpResponse response = embed(R"({"inputs":"a"})")->render(stub_answer());
  EXPECT_EQ(response.body, "[[1,-2.5,0,0.15625]]");
  EXPECT_THAT(response.headers, Contains(Pair("x-compute-tokens", "3")));
  EXPECT_THAT(response.headers, Contains(Pair("x-inference-time", "0")));
}

TEST(Tei, CaseH21RefusesWithStatus422) {
  for (const char* bad :
       {"{}", R"({"inputs":""})", R"({"inputs":[]})", R"({"inputs":["a",""]})", R"({"inputs":null})", R"({"inputs":1})"}) {
    EXPECT_EQ(status_of(Dialect::kTei, embed(bad)), 422) << bad;
  }
  EXPECT_THAT(embed(R"({"inputs":""})").error().message, StartsWith("`inputs` cannot be empty"));
}

TEST(Tei, SimilarityComparesTheFirstWithTheOthers) {
  const Result<DialectCall> call = similarity(
      R"({"inputs":{"source_sentence":"q","sentences":["a","b"]},"parameters":{"truncate":false,"prompt_name":"p"}})");
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->request.inputs.size(), 3);
  EXPECT_EQ(call->request.inputs[0].text, "q");
  EXPECT_EQ(call->request.inputs[2].text, "b");
  EXPECT_EQ(call->request.truncate, false);
  EXPECT_EQ(call->request.prompt_name, "p");
  EXPECT_EQ(call->render(answer_of({{1, 0}, {0, 2}, {3, 0}}, 9)).body, "[0,1]");
  for (const char* bad :
       {R"({"inputs":"a"})", R"({"inputs":{"source_sentence":"q"}})", R"({"inputs":{"source_sentence":"","sentences":["a"]}})",
        R"({"inputs":{"source_sentence":"q","sentences":[""]}})", R"({"inputs":{"source_sentence":"q","sentences":"a"}})"}) {
    EXPECT_EQ(status_of(Dialect::kTei, similarity(bad)), 422) << bad;
  }
}

TEST(Tei, InfoHasTheKeysThatClientsRead) {
  ModelFacts model;
  model.name = "m";
  model.id = "folder";
  model.dtype = "float32";
  model.pooling = "mean";
  model.max_length = 256;
  const std::string body = render_tei_info(model).body;
  const Result<JsonDocument> document = JsonDocument::parse(body, "info");
  ASSERT_TRUE(document);
  EXPECT_THAT(body, HasSubstr(R"("model_type":{"embedding":{"pooling":"mean"}})"));
  for (const char* key : {"model_id", "model_dtype", "max_concurrent_requests", "max_input_length", "max_batch_tokens",
                          "max_client_batch_size", "auto_truncate", "tokenization_workers", "version"}) {
    EXPECT_TRUE(document->root().find(key)) << key;
  }
  for (const char* key : {"model_sha", "max_batch_requests", "sha", "docker_label", "validation"}) {
    EXPECT_THAT(body, HasSubstr(std::string("\"") + key + "\":null"));
  }
}

TEST(Tei, InfoTellsWhatValidationFound) {
  ModelFacts model;
  model.validation.emplace();
  model.validation->dtype = "int8";
  model.validation->reference_dtype = "float32";
  model.validation->created = "2026-01-02T03:04:05Z";
  model.validation->texts = 1000;
  model.validation->p99 = 0.25;
  model.validation->reasons = {"too far off"};
  EXPECT_THAT(render_tei_info(model).body,
              HasSubstr(R"("validation":{"passed":false,"dtype":"int8","reference_dtype":"float32",)"
                        R"("created":"2026-01-02T03:04:05Z","stale":false,"texts":1000,"p99":0.25,)"
                        R"("recall_5_loss":null,"recall_5_loss_by_language":{},)"
                        R"("reasons":["too far off"]})"));
  model.validation->recall_5_loss = 0.5;
  model.validation->recall_5_loss_by_language = {{"de", 0.25}};
  EXPECT_THAT(render_tei_info(model).body, HasSubstr(R"("recall_5_loss":0.5,"recall_5_loss_by_language":{"de":0.25})"));
}

TEST(Tei, TokenizeAndDecode) {
  const Result<JsonDocument> body =
      JsonDocument::parse(R"({"inputs":["a","b"],"add_special_tokens":false,"prompt_name":"p"})", "body");
  const Result<TokenizeCall> call = parse_tokenize(body->root());
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_THAT(call->texts, ElementsAre("a", "b"));
  EXPECT_FALSE(call->add_special_tokens);
  EXPECT_EQ(call->prompt_name, "p");
  EXPECT_EQ(render_tokenize({{{7, "x\"", true}, {8, "##y", false, ByteSpan{2, 3}}}}).body,
            R"([[{"id":7,"text":"x\"","special":true,"start":null,"stop":null},)"
            R"({"id":8,"text":"##y","special":false,"start":2,"stop":3}]])");
  const Result<JsonDocument> ids = JsonDocument::parse(R"({"ids":[[1,2],[3]],"skip_special_tokens":false})", "body");
  const Result<DecodeCall> decode = parse_decode(ids->root());
  ASSERT_TRUE(decode) << decode.error().message;
  EXPECT_THAT(decode->ids, ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
  EXPECT_FALSE(decode->skip_special_tokens);
  EXPECT_EQ(render_decode({"a", "b"}).body, R"(["a","b"])");
}

}  // namespace
}  // namespace inlay
