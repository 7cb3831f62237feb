#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/api_testing.h"

namespace inlay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Result<DialectCall> cohere(std::string_view body) { return parse_with(parse_cohere, body); }
Result<DialectCall> ollama(std::string_view body) { return parse_with(parse_ollama_embed, body); }

TEST(Cohere, ReadsEveryField) {
  const Result<DialectCall> call = cohere(
      R"({"model":"m","input_type":"search_query","texts":["a","b"],"max_tokens":9,"output_dimension":16,"truncate":"START",
          "embedding_types":["binary"],"priority":0})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.model, "m");
  EXPECT_EQ(call->request.input_type, "search_query");
  EXPECT_EQ(call->request.inputs.size(), 2);
  EXPECT_EQ(call->request.max_tokens, 9);
  EXPECT_EQ(call->request.dimensions, 16);
  EXPECT_EQ(call->request.truncate, true);
  EXPECT_EQ(call->request.truncate_side, TruncationSide::kLeft);
  EXPECT_EQ(call->request.dimensions_multiple_of, 8);
  EXPECT_EQ(call->request.priority, Priority::kInteractive);
  EXPECT_EQ(cohere(R"({"model":"m","input_type":"clustering","texts":["a"],"truncate":"NONE"})")->request.truncate, false);
}

TEST(Cohere, ReadsTextsOutOfInputs) {
  const Result<DialectCall> call = cohere(
      R"({"model":"m","input_type":"search_document","inputs":[{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.inputs[0].text, "ab");
}

TEST(Cohere, RefusesWithStatus400) {
  for (const char* bad :
       {R"({"input_type":"search_query","texts":["a"]})", R"({"model":"m","texts":["a"]})",
        R"({"model":"m","input_type":"search_query"})", R"({"model":"m","input_type":"search_query","texts":[]})",
        R"({"model":"m","input_type":"search_query","texts":["a",""]})",
        R"({"model":"m","input_type":"search_query","texts":"a"})", R"({"model":"m","input_type":"image","images":["data:"]})",
        R"({"model":"m","input_type":"search_query","texts":["a"],"embedding_types":["float64"]})",
        R"({"model":"m","input_type":"search_query","texts":["a"],"truncate":"MIDDLE"})",
        R"({"model":"m","input_type":"search_query","inputs":[{"content":[{"type":"image_url"}]}]})",
        R"({"model":"m","input_type":"search_query","texts":["a"],"inputs":[]})"}) {
    EXPECT_EQ(status_of(Dialect::kCohere, cohere(bad)), 400) << bad;
  }
}

TEST(Cohere, AnswersEveryTypeThatWasAskedForAndNoOther) {
  const Result<DialectCall> call = cohere(
      R"({"model":"m","input_type":"search_query","texts":["a"],"embedding_types":["float","int8","uint8","binary","ubinary","base64"]})");
  const EmbedAnswer answer = answer_of({{1, -1, 0, 0.5F, -1, -1, -1, 1}}, 3);
  EXPECT_EQ(
      call->render(answer).body,
      R"({"response_type":"embeddings_by_type","id":"embd-id-1","embeddings":{"float":[[1,-1,0,0.5,-1,-1,-1,1]],"int8":[[127,-127,0,64,-127,-127,-127,127]],"uint8":[[255,1,128,192,1,1,1,255]],"binary":[[17]],"ubinary":[[145]],"base64":["AACAPwAAgL8AAAAAAAAAPwAAgL8AAIC/AACAvwAAgD8="]},"texts":["a"],"meta":{"api_version":{"version":"2"},"billed_units":{"input_tokens":3}}})");
  const Result<DialectCall> plain = cohere(R"({"model":"m","input_type":"search_query","texts":["a"]})");
  EXPECT_THAT(plain->render(answer).body, HasSubstr(R"("embeddings":{"float":[[1,-1,0,0.5,-1,-1,-1,1]]})"));
}

TEST(Ollama, ReadsEveryField) {
  const Result<DialectCall> call =
      ollama(R"({"model":"m:latest","input":["a","b"],"truncate":false,"dimensions":3,"keep_alive":"5m","options":{}})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->request.model, "m");
  EXPECT_EQ(call->request.inputs.size(), 2);
  EXPECT_EQ(call->request.truncate, false);
  EXPECT_EQ(call->request.dimensions, 3);
  EXPECT_EQ(ollama(R"({"model":"m","input":"a"})")->request.truncate, true);
}

TEST(Ollama, NoInputIsNoVectors) {
  for (const char* body :
       {R"({"model":"m"})", R"({"model":"m","input":""})", R"({"model":"m","input":[]})", R"({"model":"m","input":null})"}) {
    const Result<DialectCall> call = ollama(body);
    ASSERT_TRUE(call) << body;
    EXPECT_THAT(call->request.inputs, IsEmpty()) << body;
    EXPECT_THAT(call->render(answer_of({}, 0)).body, HasSubstr(R"("embeddings":[])"));
  }
  for (const char* bad :
       {R"({"model":"m","input":["a",""]})", R"({"model":"m","input":[1]})", R"({"model":1,"input":"a"})", "[]"}) {
    EXPECT_EQ(status_of(Dialect::kOllama, ollama(bad)), 400) << bad;
  }
}

TEST(Ollama, AnswersWithNanoseconds) {
  EmbedAnswer answer = stub_answer();
  answer.times.total = std::chrono::milliseconds(2);
  EXPECT_EQ(
      ollama(R"({"model":"m","input":"a"})")->render(answer).body,
      R"({"model":"stub","embeddings":[[1,-2.5,0,0.15625]],"total_duration":2000000,"load_duration":0,"prompt_eval_count":3})");
}

TEST(Ollama, TheOlderRouteAnswersOneVector) {
  const Result<DialectCall> call = parse_with(parse_ollama_embeddings, R"({"model":"m","prompt":"a"})");
  EXPECT_EQ(call->request.inputs[0].text, "a");
  EXPECT_EQ(call->render(stub_answer()).body, R"({"embedding":[1,-2.5,0,0.15625]})");
  EXPECT_EQ(parse_with(parse_ollama_embeddings, R"({"model":"m"})")->render(answer_of({}, 0)).body, R"({"embedding":[]})");
}

}  // namespace
}  // namespace inlay
